//! Numbers as the store writes them, several bytes at a time.
//!
//! A busy day is some twenty-five megabytes, nearly all of them digits, read while a person waits.

/// What a short number is, as a whole number of `10^-decimals`, and how many bytes it takes. `None`: it is long, or spelled as
/// no writer of ours does, or no number.
pub(crate) fn short_decimal(bytes: &[u8], decimals: u32) -> Option<(u64, usize)> {
    let (mut whole, mut len) = leading_digits(bytes, 0)?;
    if len == WORD {
        let (low, more) = leading_digits(bytes, WORD).filter(|(_, more)| *more < WORD)?;
        (whole, len) = (whole * TENS.get(more)? + low, WORD + more);
    }
    // No digit, or a zero that others follow.
    if len == 0 || (len > 1 && bytes.first() == Some(&b'0')) {
        return None;
    }
    let (mut fraction, mut places) = (0, 0);
    if bytes.get(len) == Some(&b'.') {
        (fraction, places) = leading_digits(bytes, len + 1).filter(|(_, places)| (1..WORD).contains(places))?;
        len += 1 + places;
    }
    let left = (decimals as usize).checked_sub(places)?;
    if matches!(bytes.get(len), Some(b'e' | b'E')) {
        return None;
    }
    let fraction = fraction * TENS.get(left)?;
    Some((whole.saturating_mul(*TENS.get(decimals as usize)?).saturating_add(fraction), len))
}

/// Digits that are read at once.
const WORD: usize = 8;

const TENS: [u64; WORD] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];

/// The digits at a place, at most [`WORD`], as a number, and how many they are. `None`: fewer bytes than that are left.
///
/// All at once, as Daniel Lemire has it (<https://arxiv.org/abs/2101.11408>, section 7): neighbours are joined to pairs,
/// pairs to fours, fours to all eight.
fn leading_digits(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk::<WORD>()?) ^ (ONES * 0x30);
    // A byte over nine gets its top bit set, by the sum or of itself; what a sum carries on comes after it.
    let others = (word.wrapping_add(ONES * 0x76) | word) & (ONES * 0x80);
    let len = others.trailing_zeros() as usize / 8;
    // The digits to the end, zeros before them. None at all would be a shift by the whole word.
    let digits = word.checked_shl(64 - 8 * u32::try_from(len).ok()?).unwrap_or(0);
    let pairs = digits.wrapping_mul(10 * 256 + 1) >> 8 & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100 * 0x1_0000 + 1) >> 16 & 0x0000_FFFF_0000_FFFF;
    Some((fours.wrapping_mul(10_000 * 0x1_0000_0000 + 1) >> 32, len))
}

/// Whether these bytes are numbers and nulls with a comma between each two, all as the store writes them.
///
/// A byte a step: the next state is the byte's row, shifted by the state before, so a step waits for nothing but that one
/// shift (Per Vognsen, "Shift-based DFAs", <https://gist.github.com/pervognsen/218ea17743e1442e59bb60d29b1aa725>).
pub(crate) fn are_numbers(bytes: &[u8]) -> bool {
    let step = |state, byte: &u8| ROWS[usize::from(*byte)] >> state & 63;
    ENDS >> bytes.iter().fold(VALUE, step) & 1 != 0
}

const BAD: u64 = 0;
const VALUE: u64 = 6;
const ZERO: u64 = 12;
const WHOLE: u64 = 18;
const POINT: u64 = 24;
const FRACTION: u64 = 30;
const N: u64 = 36;
const NU: u64 = 42;
const NUL: u64 = 48;
const NULL: u64 = 54;

/// States a value may end in.
const ENDS: u64 = 1 << ZERO | 1 << WHOLE | 1 << FRACTION | 1 << NULL;

/// A byte's row: the state after each state, six bits each, where that one begins. What isn't said is [`BAD`].
static ROWS: [u64; 256] = rows();

const fn rows() -> [u64; 256] {
    let mut rows = [BAD; 256];
    let mut digit = b'0';
    while digit <= b'9' {
        let first = if digit == b'0' { ZERO } else { WHOLE };
        rows[digit as usize] = first << VALUE | WHOLE << WHOLE | FRACTION << POINT | FRACTION << FRACTION;
        digit += 1;
    }
    rows[b',' as usize] = VALUE << ZERO | VALUE << WHOLE | VALUE << FRACTION | VALUE << NULL;
    rows[b'.' as usize] = POINT << ZERO | POINT << WHOLE;
    rows[b'n' as usize] = N << VALUE;
    rows[b'u' as usize] = NU << N;
    rows[b'l' as usize] = NUL << NU | NULL << NUL;
    rows
}
