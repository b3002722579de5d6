// Which camera runs on which node: a pure function of nodes, cameras and where they are.
//
// 1. A camera stays where it is, as long as its node is there, has what it needs, can run and record it, and is not
//    drained. So the death of a node moves its cameras and no others.
// 2. The others get a node, the most important first: of those that have room and what the camera requires, the one
//    that somebody wants, the one where it was at home, else the one that is left with the lowest load. Where none has
//    room, less important cameras give way: as few and as unimportant ones as possible.
// 3. Cameras go elsewhere of themselves only if that pays: home, where their host is much more loaded; anywhere, where
// it
//    is nearly full. A few at a time, and only to nodes that have been there for a while.
//
// The same input has the same result, in any order, on any machine.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/cluster/node_offer.h"

namespace campipe {

struct ClusterNode {
  std::string name;
  Amounts capacity;
  std::map<std::string, std::string> labels{};
  std::set<std::string> features{};
  bool draining = false;
  std::set<std::string> unfit{};  // cameras that it cannot run, or cannot record, now
  bool settled = true;            // has been there for so long that cameras may come back
};

struct ClusterCamera {
  std::string name;
  int priority = 50;  // the higher, the more important
  // What it takes of a node, in each of the ways in which it can run, the best first: on a GPU, on cores. On a node,
  // the first one counts of which the node has all resources.
  std::vector<Amounts> ways;
  std::map<std::string, std::string> labels{};  // its node must have them
  std::set<std::string> features{};             // likewise
  std::string wanted_node{};                    // where somebody has asked for it to be; empty: anywhere
  std::string unit{};  // cameras of one unit run on one node, and move together; empty: it is alone
};

struct CurrentPlace {
  std::string node;
  std::string home{};
};

struct ClusterView {
  std::vector<ClusterNode> nodes;      // that are there
  std::set<std::string> waited_for{};  // that are not, but may come back at once (VanishedNodes): their cameras wait
  std::vector<ClusterCamera> cameras;
  std::map<std::string, CurrentPlace> current{};  // of cameras that have a node
};

struct CameraPlace {
  std::string node;      // empty: there is none
  std::string home{};    // where it is to go back, if that pays; empty: it is at home
  std::string reason{};  // why it has none, or not the one that it should have, or had to leave one; for people
  friend bool operator==(const CameraPlace&, const CameraPlace&) = default;
};

// A place for each camera. Cameras of one unit have the same (camera_units.h).
std::map<std::string, CameraPlace> assign_cameras(const ClusterView& view);

}  // namespace campipe
