//! Numbers for tests that replay from their seed.

/// The next number of xorshift64* (Vigna 2016).
pub(crate) fn random(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_F491_4F6C_DD1D)
}

/// A number below `bound`.
pub(crate) fn below(state: &mut u64, bound: usize) -> usize {
    usize::try_from(random(state) >> 11).unwrap() % bound
}
