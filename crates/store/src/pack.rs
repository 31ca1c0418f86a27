//! A closed file's bytes as zstd, and back: frames of whole lines, each with its check sum and its size.
//!
//! Several frames rather than one, so that a damaged byte costs its frame and no more. What is read may be damaged or
//! made to harm: no frame is given more room than one of ours could need, and no file more than all of ours could.

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::{CParameter, DParameter, find_frame_compressed_size, get_frame_content_size};

/// Level 1 looks for long repeats alone and leaves digits to the entropy coder. Of a busy machine's lines that makes less
/// than levels 2 to 15 do (a sixth less than 7), read back half as fast again; of an idle one's as little as any but 9.
const LEVEL: i32 = 1;
/// A frame is closed after this many bytes: some quarter of an hour of a busy machine.
const FRAME_BYTES: usize = 1 << 20;
/// The most a frame may say it holds: a frame and one line, with room to spare.
const FRAME_MOST: u64 = 64 << 20;
/// The most a file may hold.
pub(crate) const FILE_MOST: u64 = 256 << 20;
/// The largest window a frame may ask for, as a power of two.
const WINDOW_LOG_MOST: u32 = 27;

/// Compresses a file's bytes.
///
/// # Errors
/// What zstd says.
pub(crate) fn pack(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut compressor = Compressor::new(LEVEL)?;
    compressor.set_parameter(CParameter::ChecksumFlag(true))?;
    compressor.set_parameter(CParameter::ContentSizeFlag(true))?;
    let mut packed = Vec::new();
    let mut rest = bytes;
    loop {
        let (frame, after) = rest.split_at(frame_len(rest));
        packed.extend(compressor.compress(frame)?);
        rest = after;
        if rest.is_empty() {
            return Ok(packed);
        }
    }
}

/// How many of these bytes are the next frame's: the lines that begin in its length.
fn frame_len(bytes: &[u8]) -> usize {
    let past = bytes.get(FRAME_BYTES..).and_then(|past| past.iter().position(|byte| *byte == b'\n'));
    past.map_or(bytes.len(), |newline| FRAME_BYTES + newline + 1)
}

/// What a compressed file held.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Unpacked {
    /// Each frame's bytes; `None` where one could not be read.
    pub frames: Vec<Option<Vec<u8>>>,
}

impl Unpacked {
    /// All of it, if all could be read.
    pub(crate) fn whole(&self) -> Option<Vec<u8>> {
        let frames: Option<Vec<&[u8]>> = self.frames.iter().map(|frame| frame.as_deref()).collect();
        frames.map(|frames| frames.concat())
    }
}

/// Decompresses a file, as much of it as can be read and is no more than it may be.
pub(crate) fn unpack(packed: &[u8]) -> Unpacked {
    let mut unpacked = Unpacked::default();
    let (mut rest, mut held) = (packed, 0);
    let decompressor = decompressor().ok().filter(|_| !packed.is_empty());
    let Some(mut decompressor) = decompressor else {
        // One of ours is never empty: an empty file holds a frame that says so.
        return Unpacked { frames: vec![None] };
    };
    while !rest.is_empty() {
        // A frame whose end isn't found hides where the next begins.
        let Some((frame, after)) = find_frame_compressed_size(rest).ok().and_then(|len| rest.split_at_checked(len))
        else {
            unpacked.frames.push(None);
            break;
        };
        rest = after;
        let bytes = frame_size(frame).and_then(|size| {
            held += size as u64;
            (held <= FILE_MOST).then(|| decompressor.decompress(frame, size).ok())?
        });
        unpacked.frames.push(bytes);
    }
    unpacked
}

fn decompressor() -> std::io::Result<Decompressor<'static>> {
    let mut decompressor = Decompressor::new()?;
    decompressor.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MOST))?;
    Ok(decompressor)
}

fn frame_size(frame: &[u8]) -> Option<usize> {
    let size = get_frame_content_size(frame).ok()??;
    usize::try_from(size).ok().filter(|_| size <= FRAME_MOST)
}
