// Which sanitizer this is built with. GCC and Clang say it in different ways.
#pragma once

#ifdef __SANITIZE_THREAD__
#define DGC_THREAD_SANITIZER 1
#elif defined(__SANITIZE_ADDRESS__)
#define DGC_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DGC_THREAD_SANITIZER 1
#elif __has_feature(address_sanitizer)
#define DGC_ADDRESS_SANITIZER 1
#endif
#endif

namespace dgc::rt {

#ifdef DGC_THREAD_SANITIZER
inline constexpr bool hasThreadSanitizer = true;
#else
inline constexpr bool hasThreadSanitizer = false;
#endif

#ifdef DGC_ADDRESS_SANITIZER
inline constexpr bool hasAddressSanitizer = true;
#else
inline constexpr bool hasAddressSanitizer = false;
#endif

inline constexpr bool isSanitized = hasThreadSanitizer || hasAddressSanitizer;

} // namespace dgc::rt
