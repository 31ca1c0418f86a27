//! Passing over the inside of a JSON string, where most of an answer's bytes are.

/// How many bytes are looked at together.
const BLOCK: usize = 64;

/// Where the string that `bytes` continues ends: the index of its closing quote, or `None` if that isn't in `bytes`.
///
/// `escaped` says whether the first byte follows a backslash that is itself unescaped, and is kept for the next call.
/// Escapes aren't checked: only where they end matters here.
pub(crate) fn closing_quote(bytes: &[u8], escaped: &mut bool) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() >= BLOCK && is_x86_feature_detected!("avx2") {
        #[allow(unsafe_code, reason = "a whole answer's text passes some four times as fast")]
        // SAFETY: the processor has AVX2, as was just asked.
        return unsafe { closing_quote_avx2(bytes, escaped) };
    }
    closing_quote_in(bytes, escaped, marks)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn closing_quote_avx2(bytes: &[u8], escaped: &mut bool) -> Option<usize> {
    closing_quote_in(bytes, escaped, |block| marks_avx2(block))
}

#[expect(clippy::inline_always, reason = "only so does it become AVX2 code in a caller that has it")]
#[inline(always)]
fn closing_quote_in(bytes: &[u8], escaped: &mut bool, marks: impl Fn(&[u8; BLOCK]) -> (u64, u64)) -> Option<usize> {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for (index, block) in blocks.iter().enumerate() {
        let (quotes, backslashes) = marks(block);
        if quotes | backslashes == 0 {
            *escaped = false;
            continue;
        }
        let ends = quotes & !escaped_in(backslashes, escaped);
        if ends != 0 {
            *escaped = false;
            return Some(index * BLOCK + ends.trailing_zeros() as usize);
        }
    }
    for (index, &byte) in rest.iter().enumerate() {
        match byte {
            _ if *escaped => *escaped = false,
            b'\\' => *escaped = true,
            b'"' => return Some(bytes.len() - rest.len() + index),
            _ => {}
        }
    }
    None
}

/// Which bytes of a block follow a backslash that is itself unescaped. `carry` is whether the block's first byte does,
/// and then whether the next block's does.
///
/// Subtracting a run of backslashes from itself moved up by one, with every odd bit set, leaves the run alternating
/// from its first bit: the method of simdjson's escape scanner (Keiser and Lemire, after "Parsing Gigabytes of JSON per
/// Second", 2019).
fn escaped_in(backslashes: u64, carry: &mut bool) -> u64 {
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
    let before = u64::from(*carry);
    let escaping = backslashes & !before;
    let codes = ((escaping << 1) | ODD).wrapping_sub(escaping) ^ ODD;
    *carry = (codes & backslashes) >> 63 != 0;
    codes ^ (backslashes | before)
}

/// Which bytes of a block are quotes, and which backslashes: the lowest bit is the first byte.
fn marks(block: &[u8; BLOCK]) -> (u64, u64) {
    let (words, _) = block.as_chunks::<8>();
    let mut found = (0, 0);
    for word in words.iter().rev() {
        let word = u64::from_le_bytes(*word);
        found = (found.0 << 8 | bytes_equal(word, b'"'), found.1 << 8 | bytes_equal(word, b'\\'));
    }
    found
}

/// The same in AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn marks_avx2(block: &[u8; BLOCK]) -> (u64, u64) {
    use std::arch::x86_64::{_mm256_cmpeq_epi8, _mm256_movemask_epi8, _mm256_set_epi64x, _mm256_set1_epi8};
    let (words, _) = block.as_chunks::<8>();
    let mut found = (0, 0);
    for half in words.rchunks_exact(4) {
        let word = |at: usize| i64::from_le_bytes(half[at]);
        let lane = _mm256_set_epi64x(word(3), word(2), word(1), word(0));
        let quotes = _mm256_movemask_epi8(_mm256_cmpeq_epi8(lane, _mm256_set1_epi8(0x22)));
        let backslashes = _mm256_movemask_epi8(_mm256_cmpeq_epi8(lane, _mm256_set1_epi8(0x5c)));
        found =
            (found.0 << 32 | u64::from(quotes.cast_unsigned()), found.1 << 32 | u64::from(backslashes.cast_unsigned()));
    }
    found
}

/// Which bytes of a word equal `byte`, a bit each.
fn bytes_equal(word: u64, byte: u8) -> u64 {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    let differs = word ^ (u64::from(byte) * 0x0101_0101_0101_0101);
    // The top bit of each byte that is zero, exactly: no borrow crosses from one byte to the next.
    let equal = !(((differs & LOW) + LOW) | differs | LOW);
    // Brings the eight top bits together in the top byte.
    (equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, bytes_equal, closing_quote, closing_quote_in, marks};
    use crate::random::random;

    /// A byte at a time, as the grammar says it.
    fn plainly(bytes: &[u8], escaped: &mut bool) -> Option<usize> {
        for (index, &byte) in bytes.iter().enumerate() {
            match byte {
                _ if *escaped => *escaped = false,
                b'\\' => *escaped = true,
                b'"' => return Some(index),
                _ => {}
            }
        }
        None
    }

    #[test]
    fn blocks_agree_with_one_byte_at_a_time() {
        let mut seed = 7;
        for round in 0..20_000 {
            let length = usize::try_from(random(&mut seed) % 300).unwrap();
            let quotes = round % 3 != 0;
            let bytes: Vec<u8> = (0..length)
                .map(|_| match random(&mut seed) % 8 {
                    0..=3 => b'\\',
                    4 if quotes => b'"',
                    _ => b'x',
                })
                .collect();
            for carry in [false, true] {
                let (mut fast, mut portable, mut slow) = (carry, carry, carry);
                let expected = plainly(&bytes, &mut slow);
                assert_eq!(closing_quote(&bytes, &mut fast), expected, "{round}");
                assert_eq!(closing_quote_in(&bytes, &mut portable, marks), expected, "{round}");
                assert_eq!((fast, portable), (slow, slow), "{round}");
            }
        }
    }

    #[test]
    fn marks_are_the_bytes_that_match() {
        let mut seed = 11;
        for _ in 0..10_000 {
            let block: [u8; BLOCK] = std::array::from_fn(|_| match random(&mut seed) % 4 {
                0 => b'"',
                1 => b'\\',
                _ => random(&mut seed).to_le_bytes()[0],
            });
            let expected = |byte| (0..BLOCK).map(|at| u64::from(block[at] == byte) << at).sum::<u64>();
            assert_eq!(marks(&block), (expected(b'"'), expected(b'\\')));
            let word = u64::from_le_bytes(block[..8].try_into().unwrap());
            assert_eq!(bytes_equal(word, b'"'), expected(b'"') & 0xFF);
        }
    }
}
