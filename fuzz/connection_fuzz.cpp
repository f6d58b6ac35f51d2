// A whole connection under a script drawn from the input: bytes in random pieces, pauses, partial sends, time
// jumps, ends and resets. Watches for crashes, broken assertions, and answers that are no HTTP.
//
// The first byte of a step says what happens, the rest of the input is what is received.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "support/faults_app.hpp"
#include "support/wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace leantea;
  test::Wire wire(test::faults_app(), test::faults_limits());
  std::string_view input(reinterpret_cast<const char*>(data), size);
  std::string all;
  while (!input.empty() && !wire.connection().closed()) {
    const auto step = static_cast<unsigned char>(input.front());
    input.remove_prefix(1);
    if (step < 0xF0) {
      const std::string_view piece = input.substr(0, step);
      input.remove_prefix(piece.size());
      wire.receive(piece);
    } else if (step < 0xF8) {
      wire.elapse(std::chrono::milliseconds(1 << (step & 7) * 2));
    } else if (step < 0xFC) {
      wire.connection().set_window(step == 0xFB ? SIZE_MAX : (step & 3) * 100u);
      wire.connection().drive();
    } else if (step < 0xFE) {
      wire.receive_end();
    } else if (step == 0xFE) {
      wire.connection().reset();
    }
    all += wire.sent();
  }
  // What was sent begins with an answer, if it is anything.
  if (!all.empty() && !all.starts_with("HTTP/1.1 ") &&
      !std::string_view("HTTP/1.1 ").starts_with(all))
    std::abort();
  return 0;
}
