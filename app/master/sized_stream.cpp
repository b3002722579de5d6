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

// Its packets have lengths where others have start codes, and the headers are beside them.
bool is_as_in_files(const AVCodecParameters& codec) { return codec.extradata_size > 0 && codec.extradata[0] == 1; }

}  // namespace

std::shared_ptr<const SourceStream> with_size(std::shared_ptr<const SourceStream> stream, const AVPacket& first) {
  if (stream->codec == nullptr || first.size <= 0) return stream;
  const int width = stream->codec->width;
  const int height = stream->codec->height;
  if (width > 0 && height > 0 && is_as_in_files(*stream->codec)) return stream;
  StreamParameters parameters;
  parameters.codec = avcodec_get_name(stream->codec->codec_id);
  if (stream->codec->extradata_size > 0)
    parameters.extradata.assign(stream->codec->extradata, stream->codec->extradata + stream->codec->extradata_size);
  parameters = with_headers(std::move(parameters), {first.data, static_cast<std::size_t>(first.size)});
  const int found_width = parameters.format.width;
  const int found_height = parameters.format.height;
  const bool is_news = found_width > 0 && found_height > 0 && (found_width != width || found_height != height);
  if (!is_news) return stream;
  auto sized = std::make_shared<SizedStream>();
  if (!sized->codec) throw std::bad_alloc();
  av_check(avcodec_parameters_copy(sized->codec.get(), stream->codec), "the stream's parameters");
  sized->codec->width = found_width;
  sized->codec->height = found_height;
  sized->stream = *stream;
  sized->stream.codec = sized->codec.get();
  return {sized, &sized->stream};
}

}  // namespace campipe
