// Functions that the CPU's code and the GPU's share, so that both compute the same. This is the one place where a
// header of kernels/ asks which compiler reads it.
#pragma once

#ifdef __CUDACC__
#define CAMPIPE_HOST_DEVICE __host__ __device__  // an attribute cannot be had from a function
#else
#define CAMPIPE_HOST_DEVICE
#endif
