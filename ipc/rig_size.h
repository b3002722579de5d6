// How many parts a rig can have.
#pragma once

namespace campipe {

// Of each kind of part (ipc/ids.h).
struct RigSize {
  RigSize() = default;
  RigSize(unsigned of_each)  // NOLINT(google-explicit-constructor): a number is all there is to say of most rigs
      : cameras(of_each), nodes(of_each), edges(of_each), outputs(of_each) {}
  unsigned cameras = 0;
  unsigned nodes = 0;
  unsigned edges = 0;
  unsigned outputs = 0;
};

}  // namespace campipe
