#include "tests/bench/peer_copies.h"

#include "core/clock.h"
#include "core/cuda.h"
#include "core/error.h"

namespace campipe {
namespace {

constexpr unsigned batch = 64;  // frames that are enqueued before any is waited for

// What a GPU beside the first one has of a frame.
class Part {
 public:
  Part(const Device& home, const Device& other, std::size_t bytes)
      : home_index_(gpu_index(home)), other_index_(gpu_index(other)), bytes_(bytes) {
    use_gpu(other);
    reach(home_index_);
    remote_ = allocate_on_device(bytes);
    made_ = allocate_on_device(bytes);
    there_ = make_cuda_stream();
    use_gpu(home);
    reach(other_index_);
    source_ = allocate_on_device(bytes);
    joined_ = allocate_on_device(bytes);
    back_ = make_cuda_stream();
  }

  // As tiles and join do it: who needs the rows fetches them.
  void enqueue() const {
    cuda_check(cudaMemcpyPeerAsync(remote_.get(), other_index_, source_.get(), home_index_, bytes_, there_.get()),
               "copying to another GPU");
    cuda_check(cudaMemcpyPeerAsync(joined_.get(), home_index_, made_.get(), other_index_, bytes_, back_.get()),
               "copying from another GPU");
  }
  void wait() const {
    cuda_check(cudaStreamSynchronize(there_.get()), "copying to another GPU");
    cuda_check(cudaStreamSynchronize(back_.get()), "copying from another GPU");
  }

 private:
  // The current GPU reads that one's memory directly, where the machine allows it.
  static void reach(int index) {
    int current = 0;
    int can = 0;
    cuda_check(cudaGetDevice(&current), "cannot find the current GPU");
    cuda_check(cudaDeviceCanAccessPeer(&can, current, index), "cannot ask for peer access");
    if (can == 0) return;
    const cudaError_t code = cudaDeviceEnablePeerAccess(index, 0);
    if (code == cudaErrorPeerAccessAlreadyEnabled) {
      static_cast<void>(cudaGetLastError());
      return;
    }
    cuda_check(code, "cannot enable peer access");
  }

  int home_index_;
  int other_index_;
  std::size_t bytes_;
  DeviceBytes remote_, made_;    // on the other GPU
  DeviceBytes source_, joined_;  // on the first one
  CudaStream there_, back_;
};

}  // namespace

PeerCopies measure_peer_copies(const std::vector<Device>& gpus, std::size_t frame_bytes, double seconds) {
  std::vector<Part> parts;
  for (const Device& gpu : gpus)
    if (gpu != gpus.front()) parts.emplace_back(gpus.front(), gpu, frame_bytes / gpus.size());
  if (parts.empty()) throw Error("nothing goes from one GPU to another");
  const auto run = [&parts](double for_seconds) {
    const auto begin = Clock::now();
    const std::chrono::duration<double> wanted(for_seconds);
    unsigned frames = 0;
    while (Clock::now() - begin < wanted) {
      for (unsigned n = 0; n < batch; ++n)
        for (const Part& part : parts) part.enqueue();
      for (const Part& part : parts) part.wait();
      frames += batch;
    }
    return 1e6 * std::chrono::duration<double>(Clock::now() - begin).count() / frames;
  };
  run(0.2);  // the first ones make the paths ready
  return {parts.size() * (frame_bytes / gpus.size()), run(seconds)};
}

}  // namespace campipe
