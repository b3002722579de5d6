#include "app/master/sized_stream.h"

#include <utility>

#include "core/error.h"
#include "core/packet.h"
#include "stages/sinks/stream_headers.h"

namespace campipe {
namespace {

struct SizedStream {
  AvCodecParameters codec{avcodec_parameters_alloc()};
  SourceStream stream;
};

}  // namespace

std::shared_ptr<const SourceStream> with_size(std::shared_ptr<const SourceStream> stream, const AVPacket& first) {
  if (stream->codec == nullptr || (stream->codec->width > 0 && stream->codec->height > 0) || first.size <= 0)
    return stream;
  StreamParameters parameters;
  parameters.codec = avcodec_get_name(stream->codec->codec_id);
  parameters = with_headers(std::move(parameters), {first.data, static_cast<std::size_t>(first.size)});
  if (parameters.format.width <= 0 || parameters.format.height <= 0) return stream;
  auto sized = std::make_shared<SizedStream>();
  if (!sized->codec) throw std::bad_alloc();
  av_check(avcodec_parameters_copy(sized->codec.get(), stream->codec), "the stream's parameters");
  sized->codec->width = parameters.format.width;
  sized->codec->height = parameters.format.height;
  sized->stream = *stream;
  sized->stream.codec = sized->codec.get();
  return {sized, &sized->stream};
}

}  // namespace campipe
