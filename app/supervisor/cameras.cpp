#include "app/supervisor/cameras.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace campipe {

const Camera* Cameras::find(const std::string& name) const {
  const auto found = std::ranges::find_if(cameras_, [&](const auto& placed) { return placed.second.name() == name; });
  return found == cameras_.end() ? nullptr : &found->second;
}

Camera* Cameras::find(const std::string& name) { return const_cast<Camera*>(std::as_const(*this).find(name)); }

Output* Cameras::output_at(unsigned place) { return taken_.at(place); }

std::vector<unsigned> Cameras::free_places(std::size_t wanted) const {
  std::vector<unsigned> places;
  for (unsigned place = 0; place < taken_.size() && places.size() < wanted; ++place) {
    if (taken_[place] == nullptr) places.push_back(place);
  }
  if (places.size() < wanted) throw Error(no_room);
  return places;
}

Camera& Cameras::add(Camera camera) {
  const unsigned place = camera.place();
  Camera& added = cameras_.emplace(place, std::move(camera)).first->second;
  for (Output& output : added.outputs) taken_.at(output.place) = &output;
  return added;
}

void Cameras::remove(unsigned place) {
  for (const Output& output : cameras_.at(place).outputs) taken_.at(output.place) = nullptr;
  cameras_.erase(place);
}

}  // namespace campipe
