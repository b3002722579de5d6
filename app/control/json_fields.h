// JSON of plain structs, from one definition for both directions. A struct lists its fields once:
//
//   struct SourceOver {
//     CameraId camera;
//     std::string failure;
//     static void fields(auto& m, auto&& f) { f("camera", m.camera), f("failure", m.failure); }
//   };
//
// write_json() makes an object of them; read_json() takes one apart. Fields may be booleans, integers, numbers,
// strings, enumerations and ids (travel as their number), optionals (null), vectors, maps by text (objects), JSON as it
// is, structs with fields, and types with a JsonOf. Reading is strict: a field that is missing, of another type, or out
// of its type's range is a BadJson. Keys that are not listed are ignored.
#pragma once

#include <cmath>
#include <concepts>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/control/shed_step.h"
#include "core/error.h"
#include "core/gpu.h"
#include "ipc/ids.h"

namespace campipe {

// Names the place: "outputs[1].epoch must be an integer that fits".
struct BadJson : Error {
  using Error::Error;
};

// The highest of an enumeration's values, which begin with 0 and have no gaps.
template <typename T>
struct LastOf;
template <>
struct LastOf<PixelFormat> : std::integral_constant<PixelFormat, PixelFormat::nv12> {};
template <>
struct LastOf<MemoryKind> : std::integral_constant<MemoryKind, MemoryKind::cuda> {};
template <>
struct LastOf<ReadySignal> : std::integral_constant<ReadySignal, ReadySignal::timeline> {};
template <>
struct LastOf<ShedStep> : std::integral_constant<ShedStep, ShedStep::off> {};

// For types whose JSON is made elsewhere: static functions `nlohmann::json write(const T&)` and
// `T read(const nlohmann::json&)`, which throws an exception for what is wrong.
template <typename T>
struct JsonOf;
template <>
struct JsonOf<Device> {
  static nlohmann::json write(const Device& device) { return to_string(device); }
  static Device read(const nlohmann::json& from) {
    const auto device = device_from_string(from.get<std::string>());
    if (!device) throw Error("must be a GPU's UUID or cpu");
    return *device;
  }
};

// For types that know nothing of messages: a specialisation with their `fields`.
template <typename T>
struct FieldsOf {
  static void fields(auto& m, auto&& f) requires requires { T::fields(m, f); }
  { T::fields(m, f); }
};

template <typename T>
concept HasFields = std::is_class_v<T> && requires(T& value) {
  FieldsOf<std::remove_const_t<T>>::fields(value, [](const char*, auto&) {});
};

// Where a value stands; a text is made of it only for an error.
struct JsonPath {
  const JsonPath* above = nullptr;
  std::string_view key;   // of an object
  std::size_t index = 0;  // of an array, where there is no key

  [[nodiscard]] std::string text() const {
    std::string path = above != nullptr ? above->text() : "";
    if (key.empty()) return above != nullptr ? path + '[' + std::to_string(index) + ']' : path;
    if (!path.empty()) path += '.';
    return path.append(key);
  }
  [[noreturn]] void fail(const std::string& what) const {
    const std::string path = text();
    throw BadJson((path.empty() ? "it" : path) + ' ' + what);
  }
};

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <typename T>
inline constexpr bool is_vector = false;
template <typename T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <typename T>
inline constexpr bool is_text_map = false;
template <typename T>
inline constexpr bool is_text_map<std::map<std::string, T>> = true;

template <typename T>
nlohmann::json write_json(const T& value) {
  if constexpr (HasFields<const T>) {
    nlohmann::json object = nlohmann::json::object();
    FieldsOf<T>::fields(value, [&](const char* key, const auto& field) { object[key] = write_json(field); });
    return object;
  } else if constexpr (is_optional<T>) {
    return value ? write_json(*value) : nlohmann::json();
  } else if constexpr (is_vector<T>) {
    nlohmann::json array = nlohmann::json::array();
    for (const auto& element : value) array.push_back(write_json(element));
    return array;
  } else if constexpr (is_text_map<T>) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [key, element] : value) object[key] = write_json(element);
    return object;
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<std::underlying_type_t<T>>(value);
  } else if constexpr (is_id<T>) {
    return value.index();
  } else if constexpr (requires { sizeof(JsonOf<T>); }) {
    return JsonOf<T>::write(value);
  } else {
    return value;
  }
}

// Throws BadJson. JSON that stays JSON is moved out of `from`.
template <typename T>
void read_json(nlohmann::json& from, T& value, const JsonPath& path = {}) {
  if constexpr (HasFields<T>) {
    if (!from.is_object()) path.fail("must be an object");
    FieldsOf<T>::fields(value, [&](const char* key, auto& field) {
      const auto found = from.find(key);
      const JsonPath place{&path, key};
      if (found == from.end()) place.fail("is missing");
      read_json(*found, field, place);
    });
  } else if constexpr (is_optional<T>) {
    value.reset();
    if (!from.is_null()) read_json(from, value.emplace(), path);
  } else if constexpr (is_vector<T>) {
    if (!from.is_array()) path.fail("must be an array");
    value.clear();
    value.reserve(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) read_json(from[i], value.emplace_back(), {&path, {}, i});
  } else if constexpr (is_text_map<T>) {
    if (!from.is_object()) path.fail("must be an object");
    value.clear();
    for (auto& [key, element] : from.items()) read_json(element, value[key], {&path, key});
  } else if constexpr (std::is_enum_v<T>) {
    std::underlying_type_t<T> number{};
    read_json(from, number, path);
    if (number > static_cast<std::underlying_type_t<T>>(LastOf<T>::value)) path.fail("is a number that means nothing");
    value = static_cast<T>(number);
  } else if constexpr (is_id<T>) {
    unsigned index = 0;
    read_json(from, index, path);
    value = T(index);
  } else if constexpr (std::same_as<T, nlohmann::json>) {
    value = std::move(from);
  } else if constexpr (std::same_as<T, bool>) {
    if (!from.is_boolean()) path.fail("must be a boolean");
    value = from.get<bool>();
  } else if constexpr (std::integral<T>) {
    const bool fits = from.is_number_unsigned()  ? std::in_range<T>(from.get<std::uint64_t>())
                      : from.is_number_integer() ? std::in_range<T>(from.get<std::int64_t>())
                                                 : false;
    if (!fits) path.fail("must be an integer that fits");
    value = from.get<T>();
  } else if constexpr (std::floating_point<T>) {
    if (!from.is_number() || !std::isfinite(from.get<T>())) path.fail("must be a number");
    value = from.get<T>();
  } else if constexpr (std::same_as<T, std::string>) {
    if (!from.is_string()) path.fail("must be a string");
    value = from.get_ref<const std::string&>();
  } else {
    try {
      value = JsonOf<T>::read(from);
    } catch (const std::exception& error) {
      path.fail(error.what());
    }
  }
}

}  // namespace campipe
