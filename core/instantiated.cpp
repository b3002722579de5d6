#include "core/instantiated.h"

#ifdef CAMPIPE_INSTANTIATES_FMT
template void fmt::detail::vformat_to<char>(buffer<char>&, basic_string_view<char>,
                                            basic_format_args<FMT_BUFFER_CONTEXT(type_identity_t<char>)>, locale_ref);
#endif

template class nlohmann::basic_json<>;
