// `mosaics`: reading them, laying them out among the cameras of the rig, and making cameras without a source of them.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "app/config/key_table.h"
#include "app/config/reader.h"
#include "app/config/values.h"
#include "core/printable.h"

namespace campipe {
namespace {

constexpr std::size_t max_streams = 256;  // cameras and mosaics
constexpr int max_side = 8192;

bool is_list_node(const YamlNode& node) { return node.kind == YamlNode::Kind::list && node.problem.empty(); }

std::optional<std::string> read_camera_name(const YamlNode& node, Report& report) {
  return read_text(node, "a camera's name", report);
}

// `3x2`
std::optional<MosaicGrid> parse_grid(const std::string& text) {
  MosaicGrid grid;
  const char* const end = text.data() + text.size();
  const auto columns = std::from_chars(text.data(), end, grid.columns);
  if (columns.ec != std::errc{} || columns.ptr == end || *columns.ptr != 'x') return std::nullopt;
  const auto rows = std::from_chars(columns.ptr + 1, end, grid.rows);
  const auto fits = [](int count) { return count >= 1 && count <= max_mosaic_cells; };
  if (rows.ec != std::errc{} || rows.ptr != end || !fits(grid.columns) || !fits(grid.rows)) return std::nullopt;
  return grid;
}

// `[gate, 0, 0, 640, 360]`
std::optional<MosaicCell> read_cell(const YamlNode& node, Report& report) {
  if (!is_list_node(node) || node.children.size() != 5) {
    refuse(node, "a cell: [camera, x, y, width, height]", report);
    return std::nullopt;
  }
  const auto camera = read_camera_name(node.children[0], report);
  std::array<std::optional<int>, 4> numbers;
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = read_int(node.children[i + 1], 0, max_side, report);
  if (!camera || !std::ranges::all_of(numbers, [](const auto& number) { return number.has_value(); })) {
    return std::nullopt;
  }
  return MosaicCell{*camera, {*numbers[0], *numbers[1], *numbers[2], *numbers[3]}};
}

std::optional<MosaicLayout> read_cells(const YamlNode& node, Report& report) {
  if (node.children.empty() || node.children.size() > static_cast<std::size_t>(max_mosaic_cells)) {
    report.at(node, "expected 1 to 99 cells, got " + std::to_string(node.children.size()));
    return std::nullopt;
  }
  std::vector<MosaicCell> cells;
  for (const YamlNode& child : node.children) {
    if (auto cell = read_cell(child, report)) cells.push_back(std::move(*cell));
  }
  if (cells.size() != node.children.size()) return std::nullopt;
  return cells;
}

// Lays mosaics out among the cameras of the rig.
class Mosaics {
 public:
  Mosaics(const std::vector<GivenCamera>& cameras, const std::vector<GivenMosaic>& mosaics,
          std::span<const std::string> removed, Report& report)
      : removed_(removed), report_(report) {
    for (const GivenCamera& camera : cameras) {
      cameras_.push_back(camera.node->key);
      nodes_.push_back(camera.node);
    }
    for (const GivenMosaic& mosaic : mosaics) mosaics_.insert(mosaic.node->key);
  }

  GivenCamera laid_out(const GivenMosaic& given) {
    check_name_is_free(given);
    GivenCamera camera = without_source(given);
    refuse_copies(camera);
    const bool has_size = is_good(given, "width") && is_good(given, "height");
    if (is_cells(given)) {
      lay_out_cells(given, *camera.value.mosaic, has_size);
    } else if (is_good(given, "cameras") && is_good(given, "layout") && check_cameras(given) && has_size) {
      lay_out_grid(given, *camera.value.mosaic);
    }
    return camera;
  }

 private:
  void check_name_is_free(const GivenMosaic& given) {
    const auto camera = std::ranges::find(nodes_, given.node->key, &YamlNode::key);
    if (camera == nodes_.end()) return;
    const auto taken = [&](const YamlNode& node, const std::string& by) {
      report_.contradiction(node.key_mark, node, "a " + by + " has this name already; choose another one");
    };
    // At that which came later.
    if ((*camera)->key_mark.document > given.node->key_mark.document) {
      taken(**camera, "mosaic");
    } else {
      taken(*given.node, "camera");
    }
  }

  static GivenCamera without_source(const GivenMosaic& given) {
    GivenCamera camera;
    camera.adopt(given);
    camera.value = given.value;
    if (!camera.value.mosaic) camera.value.mosaic.emplace();
    camera.outputs = given.outputs;
    std::string& codec = camera.value.encode.codec;
    if (is_auto(camera, camera.value.encode)) codec = EncoderConfig().codec;
    for (GivenOutput& output : camera.outputs) inherit_encode(output, output.value, camera, camera.value);
    return camera;
  }

  void refuse_copies(const GivenCamera& camera) {
    const auto check = [&](const Origin& codec, const EncoderConfig& encode, const std::string& expected) {
      if (codec.good && codec.inherited == 0 && is_copy(encode))
        report_.at(*codec.node, "a mosaic is drawn, so that there is nothing to copy; expected " + expected);
    };
    check(camera["encode.codec"], camera.value.encode, "auto, h264, hevc or mjpeg");
    for (const GivenOutput& output : camera.outputs)
      check(output["encode.codec"], output.value.encode, "h264, hevc or mjpeg");
  }

  // What was refused when it was read is not looked at again.
  static bool is_good(const GivenMosaic& given, const char* key) {
    return given[key].node == nullptr || given[key].good;
  }
  // Also those of which some were refused: what is wrong with the others is reported as well.
  static bool is_cells(const GivenMosaic& given) {
    const YamlNode* const layout = given["layout"].node;
    return layout != nullptr && is_list_node(*layout);
  }

  bool check_cameras(const GivenMosaic& given) {
    const YamlNode* const names = given["cameras"].node;
    bool good = true;
    if (!given.value.cameras.all) {
      for (std::size_t i = 0; i < names->children.size(); ++i)
        good = check_is_camera(given.value.cameras.names[i], names->children[i]) && good;
    } else if (cameras_.size() > static_cast<std::size_t>(max_mosaic_cells)) {
      report_.at_key(names != nullptr ? *names : *given.node, "a mosaic shows up to 99 cameras, and there are " +
                                                                  std::to_string(cameras_.size()) +
                                                                  "; name those that it shows in `cameras`");
      good = false;
    }
    return good;
  }

  bool check_is_camera(const std::string& name, const YamlNode& node) {
    if (std::ranges::find(cameras_, name) != cameras_.end()) return true;
    if (mosaics_.contains(name)) {
      report_.at(node, "a mosaic shows cameras only, and " + shown(node) + " is a mosaic");
      return false;
    }
    const std::vector<std::string_view> known(cameras_.begin(), cameras_.end());
    refuse_unknown_camera(node, known, removed_, report_);
    return false;
  }

  void lay_out_cells(const GivenMosaic& given, MosaicConfig& mosaic, bool has_size) {
    if (const YamlNode* const names = given["cameras"].node; names != nullptr)
      report_.at_key(*names, "the cells of `layout` name their cameras; remove this key");
    std::vector<MosaicCell> cells;
    std::vector<const YamlNode*> nodes;
    Report reported;  // when they were read
    for (const YamlNode& node : given["layout"].node->children) {
      auto cell = read_cell(node, reported);
      if (!cell) continue;
      check_is_camera(cell->camera, node.children[0]);
      cells.push_back(std::move(*cell));
      nodes.push_back(&node);
    }
    if (!has_size) return;
    LaidOutMosaic laid_out = lay_out_mosaic(cells, {}, mosaic.width, mosaic.height);
    for (const LayoutMistake& mistake : laid_out.mistakes) report_.at(*nodes.at(*mistake.cell), mistake.message);
    mosaic.cells = std::move(laid_out.cells);
  }

  void lay_out_grid(const GivenMosaic& given, MosaicConfig& mosaic) {
    const MosaicKeys& keys = given.value;
    LaidOutMosaic laid_out =
        lay_out_mosaic(keys.layout, keys.cameras.all ? cameras_ : keys.cameras.names, mosaic.width, mosaic.height);
    const YamlNode* const layout = given["layout"].node;
    for (const LayoutMistake& mistake : laid_out.mistakes) {
      layout != nullptr ? report_.at(*layout, mistake.message) : report_.at_key(*given.node, mistake.message);
    }
    mosaic.cells = std::move(laid_out.cells);
  }

  std::vector<std::string> cameras_;
  std::vector<const YamlNode*> nodes_;  // theirs
  std::span<const std::string> removed_;
  std::set<std::string, std::less<>> mosaics_;
  Report& report_;
};

}  // namespace

std::optional<int> read_mosaic_size(const YamlNode& node, Report& report) {
  const auto size = read_number(node, {.min = 64, .max = max_side, .unit = "samples", .multiple = 2}, report);
  return size ? std::optional(static_cast<int>(*size)) : std::nullopt;
}

std::optional<Rgb> read_mosaic_colour(const YamlNode& node, Report& report) {
  if (!is_list_node(node) || node.children.size() != 3) {
    refuse(node, "red, green and blue, such as [32, 32, 32]", report);
    return std::nullopt;
  }
  std::array<std::uint8_t, 3> levels{};
  bool good = true;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto level = read_int(node.children[i], 0, 255, report);
    good = good && level.has_value();
    levels[i] = static_cast<std::uint8_t>(level.value_or(0));
  }
  return good ? std::optional(Rgb{levels[0], levels[1], levels[2]}) : std::nullopt;
}

std::optional<MosaicCameras> read_mosaic_cameras(const YamlNode& node, Report& report) {
  const std::string* const text = scalar_text(node);
  if (text != nullptr && *text == "all") return MosaicCameras();
  if (!is_list_node(node)) {
    refuse(node, "all, or a list of cameras' names", report);
    return std::nullopt;
  }
  if (node.children.empty()) {
    report.at(node, "expected at least one camera; without this key it is all cameras");
    return std::nullopt;
  }
  if (node.children.size() > static_cast<std::size_t>(max_mosaic_cells)) {
    report.at(node, "expected 1 to 99 cameras, got " + std::to_string(node.children.size()));
    return std::nullopt;
  }
  MosaicCameras cameras{false};
  for (const YamlNode& child : node.children) {
    const auto name = read_camera_name(child, report);
    if (!name) continue;
    if (std::ranges::find(cameras.names, *name) != cameras.names.end()) {
      report.at(child, "camera " + shown(child) + " is in the list already; remove one");
    } else {
      cameras.names.push_back(*name);
    }
  }
  if (cameras.names.size() != node.children.size()) return std::nullopt;
  return cameras;
}

std::optional<MosaicLayout> read_mosaic_layout(const YamlNode& node, Report& report) {
  if (is_list_node(node)) return read_cells(node, report);
  const std::string* const text = scalar_text(node);
  if (text != nullptr && *text == "auto") return MosaicGrid();
  if (const auto grid = text != nullptr ? parse_grid(*text) : std::nullopt) return *grid;
  refuse(node, "auto, columns and rows from 1x1 to 99x99, such as 3x2, or a list of cells", report);
  return std::nullopt;
}

bool read_mosaic_outputs(const YamlNode& node, GivenMosaic& mosaic, Report& report) {
  return read_outputs(node, mosaic.outputs, report);
}

bool read_mosaics(const YamlNode& node, Given<RigConfig>& file, Report& report) {
  if (!is_map(node, report)) return false;
  for (const YamlNode& child : node.children) {
    check_name(child, "a mosaic's", report);
    GivenMosaic& mosaic = file.mosaics.emplace_back();
    read_keys(child, mosaic, report);
    mosaic.node = &child;
  }
  return true;
}

std::vector<GivenCamera> laid_out_mosaics(const std::vector<GivenMosaic>& mosaics, std::span<const std::string> removed,
                                          const std::vector<GivenCamera>& cameras, Report& report) {
  Mosaics all(cameras, mosaics, removed, report);
  std::vector<GivenCamera> laid_out;
  for (const GivenMosaic& mosaic : mosaics) {
    if (cameras.size() + laid_out.size() == max_streams) {
      report.at_key(*mosaic.node, "more than 256 cameras and mosaics");
      break;
    }
    laid_out.push_back(all.laid_out(mosaic));
  }
  return laid_out;
}

}  // namespace campipe
