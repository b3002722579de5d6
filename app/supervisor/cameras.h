// The cameras of a rig, by their places in the rig page. Each output has a place of its own; a camera's place is that
// of its own stream. A camera keeps its address as long as it is here.
#pragma once

#include <map>
#include <ranges>
#include <string>
#include <vector>

#include "app/supervisor/camera.h"

namespace campipe {

class Cameras {
 public:
  // `places`: how many outputs there can be.
  explicit Cameras(unsigned places) : taken_(places, nullptr) {}

  // In the order of their places.
  [[nodiscard]] auto all() { return std::views::values(cameras_); }
  [[nodiscard]] auto all() const { return std::views::values(cameras_); }
  [[nodiscard]] Camera& of(const Output& output) { return cameras_.at(output.camera); }
  // Null: there is none.
  [[nodiscard]] Camera* find(const std::string& name);
  [[nodiscard]] const Camera* find(const std::string& name) const;
  [[nodiscard]] Output* output_at(unsigned place);
  [[nodiscard]] bool has_place(unsigned place) const { return place < taken_.size(); }
  [[nodiscard]] std::size_t places() const { return taken_.size(); }

  // The lowest ones. Throws Error where there are too few.
  [[nodiscard]] std::vector<unsigned> free_places(std::size_t wanted) const;
  // At the places of its outputs, which are free.
  Camera& add(Camera camera);
  void remove(unsigned place);

 private:
  std::map<unsigned, Camera> cameras_;
  std::vector<Output*> taken_;  // by place; null: it is free
};

inline constexpr auto no_room = "there is no room for so many more streams in this run; restart the rig with them";

}  // namespace campipe
