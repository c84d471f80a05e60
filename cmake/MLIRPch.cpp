// Carries the precompiled header that the compiler libraries reuse.
