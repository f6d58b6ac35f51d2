#include "flame_graph.hpp"

#include <algorithm>
#include <memory>
#include <ranges>
#include <vector>

#include <fmt/format.h>

#include "text.hpp"

namespace leantea::lab {
namespace {

constexpr double kWidth = 1200;
constexpr double kRow = 16;
constexpr double kMargin = 10;
constexpr double kHeading = 40;
constexpr double kLetter = 6.6;      // width of a letter at the size used
constexpr double kNarrowest = 0.15;  // boxes below this are not drawn: nobody could see them
constexpr std::string_view kKernelMark = "_[k]";

struct Frame {
  std::uint64_t samples = 0;
  std::map<std::string, std::unique_ptr<Frame>, std::less<>> callees;

  Frame& callee(std::string_view name) {
    const auto found = callees.find(name);
    if (found != callees.end()) return *found->second;
    return *callees.emplace(name, std::make_unique<Frame>()).first->second;
  }
};

Frame tree_of(const FoldedStacks& stacks) {
  Frame root;
  for (const auto& [stack, samples] : stacks) {
    root.samples += samples;
    Frame* frame = &root;
    for (const std::string_view name : split(stack, ';')) {
      frame = &frame->callee(name);
      frame->samples += samples;
    }
  }
  return root;
}

std::size_t depth_of(const Frame& frame) {
  std::size_t deepest = 0;
  for (const auto& [name, callee] : frame.callees) deepest = std::max(deepest, depth_of(*callee));
  return deepest + 1;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

/// Blue for the kernel, orange for user space; the shade depends on the name, so that neighbours can be told apart.
std::string colour_of(std::string_view name) {
  unsigned hash = 0;
  for (const char c : name) hash = hash * 31 + static_cast<unsigned char>(c);
  const unsigned shade = hash % 24;
  return name.ends_with(kKernelMark)
             ? fmt::format("hsl(210,60%,{}%)", 62 + shade)
             : fmt::format("hsl({},85%,{}%)", 20 + hash % 25, 55 + shade / 2);
}

/// Draws boxes; y grows downwards, callers are below their callees as in a flame.
class Drawing {
 public:
  Drawing(std::uint64_t all, std::size_t depth) : all_(all), depth_(depth) {}

  void draw(std::string_view name, const Frame& frame, double x, std::size_t level) {
    const double width = share(frame) * (kWidth - 2 * kMargin);
    if (width < kNarrowest) return;
    box(name, frame, x, width, kHeading + static_cast<double>(depth_ - 1 - level) * kRow);
    for (const auto& [callee_name, callee] : frame.callees) {
      draw(callee_name, *callee, x, level + 1);
      x += share(*callee) * (kWidth - 2 * kMargin);
    }
  }

  const std::string& text() const { return text_; }

 private:
  double share(const Frame& frame) const {
    return static_cast<double>(frame.samples) / static_cast<double>(all_);
  }

  void box(std::string_view name, const Frame& frame, double x, double width, double y) {
    text_ += fmt::format(
        "<g><title>{} ({:.2f} %, {} samples)</title><rect x=\"{:.2f}\" y=\"{:.0f}\" "
        "width=\"{:.2f}\" height=\"{:.0f}\" "
        "fill=\"{}\"/>",
        escaped(name), share(frame) * 100, frame.samples, x, y, width, kRow - 1, colour_of(name));
    const auto letters = static_cast<std::size_t>(std::max(0.0, (width - 6) / kLetter));
    if (letters >= 3) {
      std::string label(name.substr(0, letters));
      if (letters < name.size()) label.replace(letters - 2, 2, "..");
      text_ += fmt::format("<text x=\"{:.2f}\" y=\"{:.0f}\">{}</text>", x + 3, y + kRow - 5,
                           escaped(label));
    }
    text_ += "</g>\n";
  }

  std::uint64_t all_;
  std::size_t depth_;
  std::string text_;
};

/// `symbol` of a line like `ffffffff815e4c6a kvfree_call_rcu+0x2a ([kernel.kallsyms])`.
std::string frame_of(std::string_view line) {
  line = trimmed(line);
  const std::size_t symbol_at = line.find(' ');
  if (symbol_at == std::string_view::npos) return "";
  std::string_view symbol = trimmed(line.substr(symbol_at));
  std::string_view object;
  if (const std::size_t open = symbol.rfind(" ("); open != std::string_view::npos) {
    object = symbol.substr(open + 2);
    symbol = symbol.substr(0, open);
  }
  if (const std::size_t offset = symbol.rfind("+0x"); offset != std::string_view::npos)
    symbol = symbol.substr(0, offset);
  std::string name(symbol);
  if (name == "[unknown]") {
    const std::string_view file = object.substr(0, object.find(')'));
    name = fmt::format("[{}]", file.substr(file.rfind('/') + 1));
  }
  std::ranges::replace(name, ';', ':');
  const bool kernel = object.starts_with("[kernel") || object.starts_with("[guest.kernel") ||
                      object.starts_with("[k]");
  return kernel ? name + std::string(kKernelMark) : name;
}

}  // namespace

FoldedStacks fold(std::string_view perf_script) {
  // A line that begins in the first column opens a sample; indented lines are its frames, the innermost first.
  FoldedStacks stacks;
  std::string program;
  std::vector<std::string> frames;
  const auto finish = [&] {
    if (program.empty()) return;
    std::string stack = program;
    for (const std::string& frame : std::views::reverse(frames)) stack += ';' + frame;
    ++stacks[stack];
    program.clear();
    frames.clear();
  };
  for (const std::string_view line : split(perf_script, '\n')) {
    if (trimmed(line).empty()) {
      finish();
    } else if (line.front() != ' ' && line.front() != '\t') {
      finish();
      program = std::string(words_of(line).front());
    } else if (std::string frame = frame_of(line); !frame.empty()) {
      frames.push_back(std::move(frame));
    }
  }
  finish();
  return stacks;
}

std::string flame_graph(const FoldedStacks& stacks, std::string_view title) {
  const Frame root = tree_of(stacks);
  const std::size_t depth = depth_of(root);
  const double height = kHeading + static_cast<double>(depth) * kRow + kMargin;
  Drawing drawing(std::max<std::uint64_t>(root.samples, 1), depth);
  drawing.draw("all", root, kMargin, 0);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 "
      "0 {0:.0f} {1:.0f}\">\n"
      "<style>text{{font:11px monospace;pointer-events:none}} rect{{rx:1}} g:hover "
      "rect{{stroke:#000}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<text x=\"{2:.0f}\" y=\"24\" style=\"font-size:15px\">{3}</text>\n{4}</svg>\n",
      kWidth, height, kMargin, escaped(title), drawing.text());
}

}  // namespace leantea::lab
