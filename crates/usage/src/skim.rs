//! Passing over the events of a stream that can't name a count, at the speed of a search.
//!
//! Every count that is read has a key that ends in `_tokens"`, unless a letter of it is written as an escape. So one
//! search over a chunk finds the events worth reading (in `"usage":null` chunks it finds nothing), and only those are
//! framed and read by the machine, from their first byte. An event that a chunk leaves open is held while it is short,
//! so that it can still be read from its first byte once a hit turns up in it; a longer one is followed as it passes.

use memchr::memrchr2;

use crate::place::Reader;
use crate::sse::{Events, Fed};

/// What of an open event is held: most events are shorter than this.
const HELD: usize = 512;

/// The last of a hit's bytes may be this far after its first.
const OVERLAP: usize = 7;

/// A stream of events, skimmed.
#[derive(Debug, Clone)]
pub(crate) struct Skim {
    events: Events,
    /// Whether a search tells which events are worth reading; otherwise all are read.
    searches: bool,
    /// The machine is inside an event. Otherwise the open event's bytes so far are the held ones.
    following: bool,
    held: [u8; HELD],
    length: usize,
    /// The byte before the next chunk. A stream begins as after a line's end: an empty line there ends an event, so that
    /// none is ever held.
    last: u8,
}

impl Skim {
    pub(crate) fn new(events: Events, searches: bool) -> Skim {
        Skim { events, searches, following: !searches, held: [0; HELD], length: 0, last: b'\n' }
    }

    /// Begins in the middle of a line that is no field, because blanks stand before it.
    pub(crate) fn begin_in_line(&mut self) {
        self.events.begin_in_line();
        self.following = true;
    }

    /// Reads on.
    pub(crate) fn feed(&mut self, chunk: &[u8], reader: &mut Reader) {
        let mut at = self.skipped_line_feed(chunk, 0);
        let mut straddles = self.has_straddling_hit(chunk);
        while let Some(rest) = chunk.get(at..).filter(|rest| !rest.is_empty()) {
            if self.following {
                at += match self.events.feed(rest, reader) {
                    Fed::Open => break,
                    Fed::EventEnd(length) => length,
                };
                self.following = !self.searches;
                at += self.skipped_line_feed(chunk, at);
                continue;
            }
            let hit = if straddles { Some(0) } else { find_hit(rest).map(|hit| at + hit) };
            straddles = false;
            match (hit, last_boundary(chunk, at, hit.unwrap_or(chunk.len()), self.last)) {
                (Some(_), boundary) => {
                    at = boundary.unwrap_or(at);
                    self.follow(boundary.is_some(), reader);
                }
                (None, Some(boundary)) => {
                    self.length = 0;
                    at = boundary;
                    if self.hold(chunk.get(at..).unwrap_or_default()) {
                        break;
                    }
                    self.follow(true, reader);
                }
                (None, None) => {
                    if self.hold(rest) {
                        break;
                    }
                    self.follow(false, reader);
                }
            }
        }
        self.last = chunk.last().copied().unwrap_or(self.last);
    }

    /// Puts the machine at the open event's first byte, or at the first that isn't held.
    fn follow(&mut self, at_boundary: bool, reader: &mut Reader) {
        self.events.begin_event(reader);
        if !at_boundary {
            let held = self.held.get(..self.length).unwrap_or_default();
            self.events.feed(held, reader);
        }
        self.length = 0;
        self.following = true;
    }

    /// Holds more of the open event; false if that doesn't fit.
    fn hold(&mut self, bytes: &[u8]) -> bool {
        let Some(place) = self.held.get_mut(self.length..self.length + bytes.len()) else { return false };
        place.copy_from_slice(bytes);
        self.length += bytes.len();
        true
    }

    /// 1 if the byte at `at`, where an event begins, is the LF of a CR that ended the one before; else 0.
    fn skipped_line_feed(&self, chunk: &[u8], at: usize) -> usize {
        let before = at.checked_sub(1).map_or(Some(&self.last), |before| chunk.get(before));
        let begins = !self.following && self.length == 0;
        usize::from(begins && before == Some(&b'\r') && chunk.get(at) == Some(&b'\n'))
    }

    /// Whether a hit begins in the held bytes and ends in the chunk.
    fn has_straddling_hit(&self, chunk: &[u8]) -> bool {
        if self.following || self.length == 0 {
            return false;
        }
        let held = self.held.get(self.length.saturating_sub(OVERLAP)..self.length).unwrap_or_default();
        let begun = chunk.get(..OVERLAP).unwrap_or(chunk);
        let mut seam = [0; 2 * OVERLAP];
        for (place, byte) in seam.iter_mut().zip(held.iter().chain(begun)) {
            *place = *byte;
        }
        find_hit(&seam).is_some()
    }
}

/// The index after the last empty line that ends in `chunk[from..to]`; `last` is the byte before the chunk.
///
/// Two line ends next to each other make an empty line wherever they stand, unless they are one CR LF.
fn last_boundary(chunk: &[u8], from: usize, to: usize, last: u8) -> Option<usize> {
    let mut to = to;
    // Nearly every chunk ends as its last event does.
    if from + 2 <= to && chunk.get(to - 2..to) == Some(b"\n\n") {
        return Some(to);
    }
    loop {
        let at = from + memrchr2(b'\n', b'\r', chunk.get(from..to)?)?;
        let before = at.checked_sub(1).map_or(last, |before| chunk.get(before).copied().unwrap_or(0));
        let is_cr = chunk.get(at) == Some(&b'\r');
        if before == b'\n' || (before == b'\r' && is_cr) {
            let takes_line_feed = is_cr && chunk.get(at + 1) == Some(&b'\n');
            return Some(at + 1 + usize::from(takes_line_feed));
        }
        to = at;
    }
}

/// Where the first hit in `bytes` begins: `_tokens"`, or an escape of an ASCII letter or underscore (`\u005f`, `\u006…`,
/// `\u007…`). One that isn't complete in `bytes` is none.
fn find_hit(bytes: &[u8]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        #[allow(unsafe_code, reason = "twice as fast as without, and the search is nearly all of a stream's cost")]
        // SAFETY: the processor has AVX2, as was just asked.
        return unsafe { find_hit_avx2(bytes) };
    }
    find_hit_in(bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn find_hit_avx2(bytes: &[u8]) -> Option<usize> {
    find_hit_in(bytes)
}

/// Blocks looked at together, of which the compiler makes vector code; what doesn't fill one is covered by smaller
/// ones, and at last by one that overlaps what came before.
#[expect(clippy::inline_always, reason = "only so does it become AVX2 code in a caller that has it")]
#[inline(always)]
fn find_hit_in(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(any) = any_in::<128>(bytes, at) {
        if any && let Some(hit) = hit_in(bytes, at, at + 128) {
            return Some(hit);
        }
        at += 128;
    }
    while let Some(any) = any_in::<32>(bytes, at) {
        if any && let Some(hit) = hit_in(bytes, at, at + 32) {
            return Some(hit);
        }
        at += 32;
    }
    let last = bytes.len().saturating_sub(32 + APART);
    if any_in::<32>(bytes, last) == Some(false) { None } else { hit_in(bytes, at, bytes.len()) }
}

/// The two bytes of a hit that are looked at first are this far apart: `_` and `k`, a backslash and `0`.
const APART: usize = 3;

/// Whether a hit may begin in the block at `at`; `None` if there aren't bytes enough for a block.
#[expect(clippy::inline_always, reason = "only so does it become AVX2 code in a caller that has it")]
#[inline(always)]
fn any_in<const BLOCK: usize>(bytes: &[u8], at: usize) -> Option<bool> {
    let firsts: &[u8; BLOCK] = bytes.get(at..)?.first_chunk()?;
    let seconds: &[u8; BLOCK] = bytes.get(at + APART..)?.first_chunk()?;
    let is = |byte: u8, wanted: u8| u8::from(byte == wanted);
    let mut any = 0;
    for (&first, &second) in firsts.iter().zip(seconds) {
        any |= (is(first, b'_') & is(second, b'k')) | (is(first, b'\\') & is(second, b'0'));
    }
    Some(any != 0)
}

/// The first hit that begins in `bytes[from..to]`.
fn hit_in(bytes: &[u8], from: usize, to: usize) -> Option<usize> {
    (from..to).find(|&at| match bytes.get(at) {
        Some(b'_') => bytes.get(at..).is_some_and(|rest| rest.starts_with(b"_tokens\"")),
        Some(b'\\') => matches!(bytes.get(at..at + 5), Some([_, b'u', b'0', b'0', b'5'..=b'7'])),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::{Skim, find_hit, find_hit_in};
    use crate::dialect::Dialect;
    use crate::place::Reader;
    use crate::random::below;
    use crate::sse::Events;

    /// Pieces whose every order and cut must be read alike with and without the search.
    const PIECES: [&str; 26] = [
        "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}",
        "data: {\"usage\":{\"input_tokens\":12,\"output_tokens\":3}}",
        "data: {\"usage\":{\"input\\u005ftokens\":5,\"output_t\\u006fken\\u0073\":4}}",
        "data:{\"choices\":[{\"usage\":{\"prompt_tokens\":40}}],\"usage\":null}",
        "data: {\"delta\":\"",
        "a text of some length that says nothing of what is counted, and goes on for a while, and then a while more; ",
        "\\\"usage\\\":{\\\"input_tokens\\\":9}",
        "\"}",
        "_tokens\"",
        "_to",
        "kens\":3",
        "\\u00",
        "6",
        "\\",
        "event: x",
        ": comment _tokens\"",
        "data: [DONE]",
        "data",
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "\r\r",
        "\r\n\r\n",
        "\n\r",
        "{\"usage\":{\"output_tokens\":99}}",
    ];

    fn counts(body: &[u8], searches: bool, seed: &mut u64, longest: usize) -> Option<[u64; 4]> {
        let mut reader = Reader::new(Dialect::Exclusive);
        let mut skim = Skim::new(Events::new(700), searches);
        let mut rest = body;
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at((1 + below(seed, longest)).min(rest.len()));
            skim.feed(chunk, &mut reader);
            rest = after;
        }
        reader.end_cut_document();
        reader.counts()
    }

    #[test]
    fn skimming_counts_what_reading_everything_counts() {
        let mut counted = 0;
        for round in 1..8_000_u64 {
            let mut seed = round * 0x9E37_79B9;
            let mut body = Vec::new();
            for _ in 0..below(&mut seed, 40) {
                let piece = PIECES[below(&mut seed, PIECES.len())].as_bytes();
                body.extend_from_slice(piece);
                // Otherwise few events would be whole.
                if below(&mut seed, 3) == 0 {
                    body.extend_from_slice(PIECES[21 + below(&mut seed, 3)].as_bytes());
                }
            }
            if below(&mut seed, 3) == 0 && !body.is_empty() {
                let at = below(&mut seed, body.len());
                body[at] = b"\n\r\"\\ _k0:x"[below(&mut seed, 10)];
            }
            let expected = counts(&body, false, &mut seed, 1);
            counted += usize::from(expected.is_some());
            for longest in [1, 3, 40, 1000, 5000] {
                for searches in [true, false] {
                    let found = counts(&body, searches, &mut seed, longest);
                    assert_eq!(found, expected, "round {round}: {:?}", String::from_utf8_lossy(&body));
                }
            }
        }
        assert!(counted > 1500, "only {counted} of the streams had usage");
    }

    #[test]
    fn a_hit_is_found_wherever_it_stands() {
        for length in (0..300).step_by(7).chain(120..170) {
            for hit in ["_tokens\"", "\\u005f", "\\u0061", "\\u007A"] {
                for at in (0..=length).filter(|at| at + hit.len() <= length) {
                    let mut bytes = vec![b'_'; length];
                    bytes[at..at + hit.len()].copy_from_slice(hit.as_bytes());
                    assert_eq!(find_hit(&bytes), Some(at), "{hit} at {at} of {length}");
                    assert_eq!(find_hit_in(&bytes), Some(at), "{hit} at {at} of {length}");
                    let needed = if hit.starts_with('_') { hit.len() } else { hit.len() - 1 };
                    assert_eq!(find_hit(&bytes[..at + needed - 1]), None, "{hit} at {at}, cut");
                }
            }
            assert_eq!(find_hit(&b"_tok\\u00_tokens\\\"\\u0041 ".repeat(length)), None);
        }
    }
}
