// The version in the header is the one of the build.
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include <leantea/version.hpp>

namespace leantea {
namespace {

TEST(Version, IsTheOneOfTheBuild) {
  std::ifstream in(LEANTEA_SOURCE_DIR "/CMakeLists.txt");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  EXPECT_NE(text.find("project(LeanTea VERSION " + std::string(kVersion) + " "), std::string::npos)
      << "CMakeLists.txt and leantea/version.hpp say different versions";
}

}  // namespace
}  // namespace leantea
