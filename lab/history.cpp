#include "history.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <system_error>

#include <fmt/format.h>

#include "descriptor.hpp"
#include "failure.hpp"
#include "interrupt.hpp"
#include "statistics.hpp"

namespace leantea::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBenchFile = "http-bench.json";
constexpr std::string_view kTool = "customBiggerIsBetter";
constexpr std::string_view kReference = "nginx";
// Recording takes milliseconds. Who waits this long waits for something that hangs.
constexpr std::chrono::seconds kLockPatience{30};
constexpr std::chrono::milliseconds kLockPause{20};

std::string in_folder(const std::string& folder, std::string_view name) {
  return (fs::path(folder) / name).string();
}

// ---- Files ----------------------------------------------------------------------------------------------------------

const char* advice_on(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "free some space and run this again";
    case ENOENT:
      return "make its folder first";
    default:
      return "see whether the folder may be written to";
  }
}

[[noreturn]] void fail_to_write(const std::string& path, int error) {
  throw Failure(fmt::format("cannot write {}: {}; nothing of it was changed: {}", path,
                            std::strerror(error), advice_on(error)));
}

/// The text of a file; nothing when it is not there.
std::optional<std::string> text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT) return std::nullopt;
    throw Failure(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) throw Failure(fmt::format("cannot read {}", path));
  return text;
}

/// Writes all of `text` and makes it durable; an error number when that fails.
int write_durably(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(fd) == 0 ? 0 : errno;
}

/// A rename is durable when its folder is.
void sync_folder(const std::string& folder) {
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) fail_to_write(folder, errno);
}

/// Held while a folder's files are changed. The kernel gives it back when its holder ends, however it ends; the file
/// stays, for whoever removed it could remove it from under someone who waits for it.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) {
    const std::string path = in_folder(folder, ".lock");
    fd_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!fd_.valid()) fail_to_write(path, errno);
    const auto deadline = Clock::now() + kLockPatience;
    while (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) fail_to_write(path, errno);
      if (Clock::now() > deadline) {
        throw Failure(
            fmt::format("another program holds {} for more than {} s: see who it is "
                        "(fuser {}), end it, and record the run again",
                        path, kLockPatience.count(), path));
      }
      pause_for(kLockPause);
    }
  }

 private:
  Descriptor fd_;
};

// ---- Reading --------------------------------------------------------------------------------------------------------

std::string text_or_empty(const JsonValue& value) { return value.text().value_or(""); }

/// A line of runs.jsonl and its number.
struct Line {
  std::string_view text;
  int number = 0;
};

/// The lines of runs.jsonl. A last one without a line end was cut off, or written by hand: somebody has to look.
std::vector<Line> lines_of_runs(std::string_view text, const std::string& path) {
  std::vector<Line> lines;
  int number = 1;
  for (; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      throw Failure(
          fmt::format("{}:{}: the last line has no line end, so it was cut off while something "
                      "wrote it: remove it (sed -i '{}d' {}), or end it if it is whole, and run "
                      "this again",
                      path, number, number, path));
    }
    lines.push_back({.text = text.substr(0, end), .number = number});
    text.remove_prefix(end + 1);
  }
  return lines;
}

// ---- The figures of a run -------------------------------------------------------------------------------------------

struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
  std::size_t blocks = 0;  ///< 0: not known
};

std::optional<Estimate> estimate_of(const JsonValue& figure) {
  const std::optional<double> value = figure["median"].number();
  if (!value) return std::nullopt;
  return Estimate{.value = *value,
                  .low = figure["low"].number().value_or(*value),
                  .high = figure["high"].number().value_or(*value),
                  .blocks = static_cast<std::size_t>(figure["blocks"].number().value_or(0))};
}

std::optional<Estimate> in_percent(std::optional<Estimate> ratio) {
  if (!ratio) return std::nullopt;
  return Estimate{.value = 100 * ratio->value,
                  .low = 100 * ratio->low,
                  .high = 100 * ratio->high,
                  .blocks = ratio->blocks};
}

/// 1/x: what was the low end is the high one.
std::optional<Estimate> inverse_of(std::optional<Estimate> ratio) {
  if (!ratio || ratio->value <= 0 || ratio->low <= 0 || ratio->high <= 0) return std::nullopt;
  return Estimate{.value = 1 / ratio->value,
                  .low = 1 / ratio->high,
                  .high = 1 / ratio->low,
                  .blocks = ratio->blocks};
}

std::optional<Estimate> figure_of(const JsonValue& server, Figure figure) {
  const JsonValue& ratio = server["ratio_to"][kReference];
  switch (figure) {
    case Figure::kRequestsPerSecond:
      return estimate_of(server["requests_per_second"]);
    case Figure::kCpuPerRequest:
      return estimate_of(server["cpu_us_per_request"]);
    case Figure::kRequestsParity:
      return in_percent(estimate_of(ratio["requests_per_second"]));
    case Figure::kCpuParity:
      return in_percent(inverse_of(estimate_of(ratio["cpu_us_per_request"])));
  }
  return std::nullopt;
}

constexpr Figure kFigures[] = {Figure::kRequestsParity, Figure::kCpuParity,
                               Figure::kRequestsPerSecond, Figure::kCpuPerRequest};

/// A series without points: what it is called and how it is read.
Series series_without_points(Figure figure, const std::string& scenario,
                             const std::string& server) {
  Series series{.figure = figure, .scenario = scenario, .server = server};
  switch (figure) {
    case Figure::kRequestsPerSecond:
      series.key = fmt::format("rps/{}/{}", scenario, server);
      series.title = fmt::format("RPS {} {}", server, scenario);
      series.unit = "req/s";
      break;
    case Figure::kCpuPerRequest:
      series.key = fmt::format("cpu/{}/{}", scenario, server);
      series.title = fmt::format("CPU per request {} {}", server, scenario);
      series.unit = "µs";
      series.bigger_is_better = false;
      break;
    case Figure::kRequestsParity:
      series.key = fmt::format("rps-parity/{}/{}", scenario, server);
      series.title = fmt::format("parity {} ({}/{})", scenario, server, kReference);
      series.unit = "%";
      break;
    case Figure::kCpuParity:
      series.key = fmt::format("cpu-parity/{}/{}", scenario, server);
      series.title = fmt::format("CPU parity {} ({}/{})", scenario, kReference, server);
      series.unit = "%";
      break;
  }
  return series;
}

/// Calls `visit(series without points, estimate)` for each figure of the run.
template <typename Visit>
void for_each_figure(const RecordedRun& run, Visit visit) {
  for (const JsonValue& scenario : run.all["scenarios"].elements()) {
    const std::string name = text_or_empty(scenario["name"]);
    for (const JsonValue& server : scenario["servers"].elements()) {
      if (server["void"].boolean().value_or(false)) continue;
      for (const Figure figure : kFigures) {
        if (const auto estimate = figure_of(server, figure)) {
          visit(series_without_points(figure, name, text_or_empty(server["name"])), *estimate);
        }
      }
    }
  }
}

// ---- http-bench.json ------------------------------------------------------------------------------------------------

/// Milliseconds since 1970 of a date as recorded; nothing when it is none.
std::optional<std::int64_t> milliseconds_of(const std::string& date) {
  std::tm parts{};
  const char* end = ::strptime(date.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr) return std::nullopt;
  return static_cast<std::int64_t>(::timegm(&parts)) * 1000;
}

std::string what_the_range_is(const Estimate& estimate) {
  if (estimate.blocks == 0) return "median and its interval";
  if (estimate.blocks < kLeastForInterval)
    return fmt::format("median of {} blocks, the smallest and the largest", estimate.blocks);
  return fmt::format("median of {} blocks and its 95 % interval", estimate.blocks);
}

/// The benches, as elements of the array that is being written. Smaller-is-better figures have no place in it.
void write_benches(Json& json, const RecordedRun& run) {
  for_each_figure(run, [&](const Series& series, const Estimate& estimate) {
    if (!series.bigger_is_better) return;
    const int digits = series.unit == "%" ? 2 : 0;
    json.object([&] {
      json.field("name", series.title);
      json.field("unit", series.unit);
      json.field("value", estimate.value);
      json.field("range",
                 fmt::format("{:.{}f} – {:.{}f}", estimate.low, digits, estimate.high, digits));
      json.field("extra", what_the_range_is(estimate));
    });
  });
}

void write_person(Json& json, std::string_view role, const std::string& name) {
  json.object(role, [&] {
    json.field("name", name);
    json.field("username", name);
  });
}

void write_entry(Json& json, const RecordedRun& run) {
  json.object([&] {
    json.object("commit", [&] {
      write_person(json, "author", run.commit.author);
      write_person(json, "committer", run.commit.author);
      json.field("id", run.commit.id);
      json.field("message", run.commit.subject);
      json.field("timestamp", run.commit.date);
      json.field("url", run.commit.url);
    });
    json.field("date", milliseconds_of(run.date).value_or(0));
    json.field("tool", kTool);
    json.array("benches", [&] { write_benches(json, run); });
  });
}

/// The address of the repository that a commit's address is in; empty when there is none.
std::string repository_of(const RecordedRun& run) {
  const std::size_t end = run.commit.url.rfind("/commit/");
  return end == std::string::npos ? "" : run.commit.url.substr(0, end);
}

/// The file's new text: all it had, other suites too, and `runs` at the end of ours.
std::string with_runs(const JsonValue& old, const std::vector<RecordedRun>& runs) {
  const std::string repository = repository_of(runs.back());
  const std::int64_t newest = milliseconds_of(runs.back().date).value_or(0);
  Json json;
  json.object([&] {
    json.field("lastUpdate", newest);
    json.field("repoUrl", repository.empty() ? text_or_empty(old["repoUrl"]) : repository);
    json.object("entries", [&] {
      for (const auto& [suite, entries] : old["entries"].members()) {
        if (suite != kSuite) json.field(suite, entries);
      }
      json.array(kSuite, [&] {
        for (const JsonValue& entry : old["entries"][kSuite].elements()) json.value(entry);
        for (const RecordedRun& run : runs) write_entry(json, run);
      });
    });
    for (const auto& [name, value] : old.members()) {
      if (name != "lastUpdate" && name != "repoUrl" && name != "entries") json.field(name, value);
    }
  });
  return json.text();
}

bool is_entry_of(const JsonValue& entry, const RecordedRun& run) {
  const std::optional<double> date = entry["date"].number();
  return date && static_cast<std::int64_t>(*date) == milliseconds_of(run.date).value_or(0) &&
         text_or_empty(entry["commit"]["id"]) == run.commit.id;
}

/// The runs of `lines` that http-bench.json lacks: the last, which is new, and those before it up to the newest that it
/// has. Older ones that are not in it were taken out by somebody, and stay out.
std::vector<RecordedRun> runs_lacking(const JsonValue& old, const std::vector<Line>& lines,
                                      const std::string& path) {
  const std::span<const JsonValue> entries = old["entries"][kSuite].elements();
  std::vector<RecordedRun> lacking;
  for (std::size_t i = lines.size(); i-- > 0;) {
    RecordedRun run = parse_run(lines[i].text, path, lines[i].number);
    const auto has = [&](const JsonValue& entry) { return is_entry_of(entry, run); };
    if (!lacking.empty() && std::ranges::any_of(entries, has)) break;
    lacking.push_back(std::move(run));
  }
  std::ranges::reverse(lacking);
  return lacking;
}

/// What http-bench.json holds; nothing where it is not there. Throws Failure when it is something else.
JsonValue read_bench_file(const std::string& path) {
  const std::optional<std::string> text = text_of_file(path);
  if (!text) return {};
  JsonValue value = parse_json(*text, path);
  const JsonValue& entries = value["entries"];
  if (!entries.is_object() || !(entries[kSuite].is_null() || entries[kSuite].is_array())) {
    throw Failure(fmt::format(
        "{} is no data file of github-action-benchmark (it has no \"entries\"): restore its last "
        "good version, or remove it, and it is made again from {}",
        path, kRunsFile));
  }
  return value;
}

/// The texts of a run that explain a change which no commit made.
std::vector<std::pair<std::string, std::string>> surroundings_of(const RecordedRun& run) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [name, value] : run.all["versions"].members())
    all.emplace_back(name, value.text().value_or(""));
  for (const char* part : {"processor", "kernel", "system"})
    all.emplace_back(part, run.all["machine"][part].text().value_or(""));
  return all;
}

}  // namespace

void replace_file(const std::string& path, std::string_view text) {
  const fs::path target(path);
  std::error_code unknown;
  if (fs::exists(target, unknown) && !fs::is_regular_file(target, unknown)) {
    throw Failure(
        fmt::format("{} is no file that could be replaced (a folder, a device, …): name another",
                    path),
        kExitUsage);
  }
  const std::string folder = target.has_parent_path() ? target.parent_path().string() : ".";
  const std::string beside = in_folder(folder, "." + target.filename().string() + ".new");
  Descriptor fd(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd.valid()) fail_to_write(path, errno);
  int error = write_durably(fd.get(), text);
  fd.reset();
  if (error == 0 && ::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(beside.c_str());
    fail_to_write(path, error);
  }
  sync_folder(folder);
}

std::string machine_of(const RecordedRun& run) {
  return fmt::format("{}, {} cores", run.all["machine"]["processor"].text().value_or(""),
                     run.all["machine"]["cores"].number().value_or(0));
}

std::vector<std::string> differences(const RecordedRun& before, const RecordedRun& after) {
  std::vector<std::string> found;
  const auto old = surroundings_of(before);
  for (const auto& [name, value] : surroundings_of(after)) {
    const auto same = std::ranges::find(old, name, [](const auto& pair) { return pair.first; });
    if (same != old.end() && same->second != value)
      found.push_back(fmt::format("{} {} → {}", name, same->second, value));
  }
  return found;
}

RecordedRun parse_run(std::string_view text, const std::string& file, int first_line) {
  RecordedRun run;
  run.all = parse_json(text, file, first_line);
  const std::optional<double> format = run.all["format"].number();
  if (!format) {
    throw Failure(
        fmt::format("{}:{}: this is no recorded run: it has no \"format\"; remove the "
                    "line, or take the file's last good version",
                    file, first_line));
  }
  if (*format != kRunFormat) {
    throw Failure(
        fmt::format("{}:{}: this run has format {}, and this program knows format {}: use the "
                    "leantea-lab that recorded it, or a newer one",
                    file, first_line, *format, kRunFormat));
  }
  run.date = text_or_empty(run.all["date"]);
  if (!milliseconds_of(run.date)) {
    throw Failure(
        fmt::format("{}:{}: this run has no date like 2026-01-31T12:00:00Z", file, first_line));
  }
  const JsonValue& commit = run.all["commit"];
  run.commit = {.id = text_or_empty(commit["id"]),
                .subject = text_or_empty(commit["subject"]),
                .author = text_or_empty(commit["author"]),
                .date = text_or_empty(commit["date"]),
                .url = text_or_empty(commit["url"]),
                .dirty = commit["dirty"].boolean().value_or(false)};
  return run;
}

std::vector<RecordedRun> read_history(const std::string& folder) {
  const std::string path = in_folder(folder, kRunsFile);
  const std::string text = text_of_file(path).value_or("");
  std::vector<RecordedRun> runs;
  for (const Line& line : lines_of_runs(text, path)) {
    runs.push_back(parse_run(line.text, path, line.number));
    runs.back().index = runs.size() - 1;
  }
  return runs;
}

void append_run(const std::string& folder, std::string_view run) {
  // What is no run is refused before anything is touched, and what is one gets one line, however it was laid out.
  const std::string line = in_one_line(parse_run(run, "the run to record").all) + "\n";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_to_write(folder, error.value());
  const FolderLock lock(folder);
  const std::string runs_path = in_folder(folder, kRunsFile);
  const std::string bench_path = in_folder(folder, kBenchFile);
  // Read first: a file that somebody has broken is reported before the other one is changed.
  const JsonValue bench = read_bench_file(bench_path);
  std::string text = text_of_file(runs_path).value_or("");
  lines_of_runs(text, runs_path);
  text += line;
  const std::vector<RecordedRun> lacking =
      runs_lacking(bench, lines_of_runs(text, runs_path), runs_path);
  replace_file(runs_path, text);
  try {
    replace_file(bench_path, with_runs(bench, lacking) + "\n");
  } catch (const Failure& failure) {
    throw Failure(
        fmt::format("{}. The run is in {}, and the next run that is recorded brings {} "
                    "up to date",
                    failure.what(), runs_path, bench_path));
  }
}

std::string benches_of(const RecordedRun& run) {
  Json json;
  json.array([&] { write_benches(json, run); });
  return json.text();
}

std::vector<Series> series_of(const std::vector<RecordedRun>& runs) {
  std::map<std::string, Series> found;
  std::vector<std::string> order;
  // From the newest run backwards, so that what is measured today comes first; points are put right at the end.
  for (const RecordedRun& run : std::views::reverse(runs)) {
    for_each_figure(run, [&](const Series& series, const Estimate& estimate) {
      const auto [place, is_new] = found.try_emplace(series.key, series);
      if (is_new) order.push_back(place->first);
      place->second.points.push_back({.date = run.date,
                                      .commit_id = run.commit.id,
                                      .subject = run.commit.subject,
                                      .url = run.commit.url,
                                      .value = estimate.value,
                                      .low = estimate.low,
                                      .high = estimate.high,
                                      .run = run.index});
    });
  }
  std::vector<Series> all;
  for (const std::string& key : order) {
    std::ranges::reverse(found.at(key).points);
    all.push_back(std::move(found.at(key)));
  }
  return all;
}

}  // namespace leantea::lab
