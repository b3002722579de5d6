// A walk of a grid over the vectors of many rows, without a division for each of them.
#pragma once

namespace campipe {

// Thread by thread over `rows` rows of `columns` vectors each, in the order of memory.
struct RowWalk {
  int row;
  int column;
  int row_step;
  int column_step;
  int columns;

  __device__ explicit RowWalk(int per_row) : columns(per_row) {
    const unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned step = gridDim.x * blockDim.x;
    const unsigned width = static_cast<unsigned>(per_row);
    row = static_cast<int>(first / width);
    column = static_cast<int>(first % width);
    row_step = static_cast<int>(step / width);
    column_step = static_cast<int>(step % width);
  }
  __device__ void advance() {
    row += row_step;
    column += column_step;
    if (column >= columns) {
      column -= columns;
      ++row;
    }
  }
};

}  // namespace campipe
