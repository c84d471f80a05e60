// Carries a precompiled header, which other targets reuse.
