//! Pure parsers: the bytes of a kernel file in, numbers out.
