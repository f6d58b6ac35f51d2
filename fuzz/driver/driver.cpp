// Runs a fuzz target without libFuzzer, in any build and with any compiler:
//
//   x_fuzz [--seconds N] [--seed S] PATH...
//
// gives the target every file (those in a folder too), then mutations of them for N seconds (none by default). The same
// seed makes the same mutations. An input that crashes the target is left in ./crash-<target>, to be given as PATH.
// For finding new faults use libFuzzer, which sees what the code does: ./dev fuzz.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestInput = 4096;
constexpr std::array kWords = {
    "\r\n"sv,
    "\r\n\r\n"sv,
    "\n"sv,
    "\0"sv,
    " "sv,
    "\t"sv,
    ":"sv,
    "GET "sv,
    "POST "sv,
    "HEAD "sv,
    " HTTP/1.1\r\n"sv,
    " HTTP/1.0\r\n"sv,
    "/"sv,
    "/%2e%2e/"sv,
    "*"sv,
    "?a=b&"sv,
    "http://h/"sv,
    "Host: h\r\n"sv,
    "0\r\n\r\n"sv,
    "5;a=\"b\"\r\n"sv,
    "ffffffffffffffff\r\n"sv,
    "chunked"sv,
    "Connection: close\r\n"sv,
    "Transfer-Encoding: chunked\r\n"sv,
    "Content-Length: 5\r\n"sv,
    "Expect: 100-continue\r\n"sv,
    "18446744073709551616"sv,
};

std::string current;     // what the target has just now
std::string crash_file;  // where it is put when that ends the program

void keep_current(int signal) {
  // Only what a signal handler may do.
  const int file = ::open(crash_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0) {
    const bool kept = ::write(file, current.data(), current.size()) >= 0 && ::close(file) == 0;
    const auto text = kept ? "the input is in "sv : "the input could not be kept in "sv;
    (void)(::write(2, text.data(), text.size()) + ::write(2, crash_file.data(), crash_file.size()) +
           ::write(2, "\n", 1));
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run() {
  // A copy of the exact size, so that ASan and valgrind see a read past its end.
  std::vector<std::uint8_t> input(current.begin(), current.end());
  input.shrink_to_fit();
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

void read(const fs::path& path, std::vector<std::string>& inputs) {
  if (fs::is_directory(path)) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
    std::ranges::sort(files);
    for (const auto& file : files) read(file, inputs);
  } else if (fs::is_regular_file(path)) {
    std::ifstream in(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
}

class Mutator {
 public:
  Mutator(std::uint64_t seed, const std::vector<std::string>& seeds)
      : random_(seed), seeds_(seeds) {}

  void next(std::string& input) {
    input = seeds_[below(seeds_.size())];
    for (std::size_t steps = 1 + below(6); steps > 0; --steps) step(input);
    if (input.size() > kLongestInput) input.resize(kLongestInput);
  }

 private:
  void step(std::string& input) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t length = below(std::min<std::size_t>(input.size() - at, 32) + 1);
    switch (below(6)) {
      case 0:
        input.erase(at, length);
        break;
      case 1:
        input.insert(at, input.substr(at, length));
        break;
      case 2:
        input.insert(at, kWords[below(kWords.size())]);
        break;
      case 3:
        input.replace(at, length, kWords[below(kWords.size())]);
        break;
      case 4:
        if (at < input.size()) input[at] = static_cast<char>(below(256));
        break;
      default: {  // the rest of another input
        const std::string& other = seeds_[below(seeds_.size())];
        input.replace(at, std::string::npos, other, below(other.size() + 1), std::string::npos);
      }
    }
  }

  // Not std::uniform_int_distribution: its sequence differs between standard libraries.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }

  std::mt19937_64 random_;
  const std::vector<std::string>& seeds_;
};

}  // namespace

int main(int argc, char** argv) {
  std::chrono::seconds time{0};
  std::uint64_t seed = 1;
  std::vector<std::string> inputs;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool has_value = i + 1 < arguments.size();
    if (arguments[i] == "--seconds" && has_value) {
      time = std::chrono::seconds(std::strtol(arguments[++i].c_str(), nullptr, 10));
    } else if (arguments[i] == "--seed" && has_value) {
      seed = std::strtoull(arguments[++i].c_str(), nullptr, 10);
    } else {
      read(arguments[i], inputs);
    }
  }
  crash_file = "crash-" + fs::path(argv[0]).filename().string();
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE})
    std::signal(signal, keep_current);

  const std::size_t files = inputs.size();
  for (const auto& input : inputs) {
    current = input;
    run();
  }
  if (inputs.empty()) inputs.emplace_back();
  Mutator mutator(seed, inputs);
  std::size_t mutations = 0;
  for (const auto end = Clock::now() + time; Clock::now() < end; ++mutations) {
    mutator.next(current);
    run();
  }
  std::printf("%zu inputs, %zu mutations with seed %llu\n", files, mutations,
              static_cast<unsigned long long>(seed));
}
