// Shell commands for the tests of this folder, and a folder for what they make. One thread.
#pragma once

#include <filesystem>
#include <string>

namespace leantea::ci {

struct Outcome {
  int code = 0;        ///< exit code, or 128 + signal
  std::string output;  ///< of both outputs
};

/// Runs `command` with sh in `folder`.
Outcome run(const std::filesystem::path& folder, const std::string& command);

/// The text of a file; empty when it is not there.
std::string text_of(const std::filesystem::path& file);

void write(const std::filesystem::path& file, const std::string& text);

/// A new folder, removed with all it holds at the end of its scope.
class Folder {
 public:
  Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace leantea::ci
