#include "core/gpu.h"

#include <fmt/format.h>

namespace campipe {
namespace {

std::optional<unsigned> hex_digit(char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto at = digits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
  return at == std::string_view::npos ? std::nullopt : std::optional(static_cast<unsigned>(at));
}

constexpr std::string_view prefix = "GPU-";
constexpr std::string_view mig_prefix = "MIG-";

bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

bool has_dash_before(std::size_t byte) { return byte == 4 || byte == 6 || byte == 8 || byte == 10; }

}  // namespace

std::string to_string(const Device& device) {
  if (!on_gpu(device)) return "cpu";
  std::string text(device.kind == Device::Kind::mig ? mig_prefix : prefix);
  for (std::size_t i = 0; i < device.gpu_uuid.size(); ++i) {
    if (has_dash_before(i)) text += '-';
    text += fmt::format("{:02x}", device.gpu_uuid[i]);
  }
  return text;
}

std::optional<Device> device_from_string(const std::string& text) {
  if (text == "cpu") return Device{};
  std::string_view rest = text;
  Device device;
  if (take(rest, mig_prefix)) {
    device.kind = Device::Kind::mig;
  } else {
    take(rest, prefix);
  }
  for (std::size_t i = 0; i < device.gpu_uuid.size(); ++i) {
    if (has_dash_before(i) && !take(rest, "-")) return std::nullopt;
    if (rest.size() < 2) return std::nullopt;
    const auto high = hex_digit(rest[0]);
    const auto low = hex_digit(rest[1]);
    if (!high || !low) return std::nullopt;
    device.gpu_uuid[i] = static_cast<std::uint8_t>(16 * *high + *low);
    rest.remove_prefix(2);
  }
  return rest.empty() && device.gpu_uuid != Device().gpu_uuid ? std::optional(device) : std::nullopt;
}

bool is_mig_name(std::string_view name) { return name.find(" MIG ") != std::string_view::npos; }

}  // namespace campipe
