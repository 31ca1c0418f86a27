//! What files there are, and all of one span's bytes, whether plain, compressed, or for a moment both.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};

use crate::files::{Files, retried};
use crate::pack::{FILE_MOST, Unpacked, unpack};
use crate::span::{Part, Span};

const PLAIN: &str = ".jsonl";
const PACKED: &str = ".jsonl.zst";

/// Which files a span has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub plain: bool,
    pub packed: bool,
}

/// A part's folder.
pub(crate) fn folder_of(folder: &Path, part: Part) -> PathBuf {
    folder.join(part.folder())
}

/// A span's plain file.
pub(crate) fn plain_path(folder: &Path, part: Part, span: Span) -> PathBuf {
    folder_of(folder, part).join(part.name(span) + PLAIN)
}

/// A span's compressed file.
pub(crate) fn packed_path(folder: &Path, part: Part, span: Span) -> PathBuf {
    folder_of(folder, part).join(part.name(span) + PACKED)
}

/// The file a span is compressed to before it has its name.
pub(crate) fn temporary_path(folder: &Path, part: Part, span: Span) -> PathBuf {
    folder_of(folder, part).join(format!(".{}{PACKED}.tmp", part.name(span)))
}

/// Whether a name is one of [`temporary_path`]'s.
pub(crate) fn is_temporary(part: Part, name: &str) -> bool {
    let span = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp")?.strip_suffix(PACKED));
    span.is_some_and(|span| part.parse(span).is_some())
}

/// The spans a part has files of; other files are passed over.
pub(crate) fn list_spans(files: &dyn Files, folder: &Path, part: Part) -> Result<BTreeMap<Span, Found>> {
    let mut spans = BTreeMap::<_, Found>::new();
    for name in retried(|| files.list(&folder_of(folder, part)))? {
        if let Some(span) = name.strip_suffix(PACKED).and_then(|name| part.parse(name)) {
            spans.entry(span).or_default().packed = true;
        } else if let Some(span) = name.strip_suffix(PLAIN).and_then(|name| part.parse(name)) {
            spans.entry(span).or_default().plain = true;
        }
    }
    Ok(spans)
}

/// A file's bytes, if it is there. A disk that fails once is asked again before they are given up.
pub(crate) fn read_if_there(files: &dyn Files, path: &Path) -> Result<Option<Vec<u8>>> {
    let read = || retried(|| files.read(path, FILE_MOST));
    match read().or_else(|error| if error.kind() == ErrorKind::NotFound { Err(error) } else { read() }) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        bytes => bytes.map(Some),
    }
}

/// How a span's two files stand to each other, where both are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Both {
    /// The plain one holds all: the compressed one is equal, its beginning, or damaged.
    Plain,
    /// The compressed one holds all, the plain one being equal, its end, or its beginning as it was read before the rest.
    Packed,
    /// Each holds what the other doesn't; the compressed one came first.
    Each,
}

/// Compares a span's two files.
pub(crate) fn compare(plain: &[u8], packed: &Unpacked) -> Both {
    match packed.whole() {
        None => Both::Plain,
        Some(whole) if whole.ends_with(plain) || whole.starts_with(plain) => Both::Packed,
        Some(whole) if plain.starts_with(&whole) => Both::Plain,
        Some(_) => Both::Each,
    }
}

/// A span's bytes in order, `None` where some could not be read; nothing where it has no file.
///
/// The plain file is looked for first and once more at the end, since it may be compressed meanwhile.
///
/// # Errors
/// What the system says, but that a file isn't there.
pub(crate) fn load(files: &dyn Files, folder: &Path, part: Part, span: Span) -> Result<Vec<Option<Vec<u8>>>> {
    let plain_path = plain_path(folder, part, span);
    let mut plain = read_if_there(files, &plain_path)?;
    let packed = read_if_there(files, &packed_path(folder, part, span))?.map(|packed| unpack(&packed));
    if plain.is_none() && packed.is_none() {
        plain = read_if_there(files, &plain_path)?;
    }
    Ok(match (plain, packed) {
        (None, None) => Vec::new(),
        (Some(plain), None) => vec![Some(plain)],
        (None, Some(packed)) => packed.frames,
        (Some(plain), Some(packed)) => match compare(&plain, &packed) {
            Both::Plain => vec![Some(plain)],
            Both::Packed => packed.frames,
            Both::Each => packed.frames.into_iter().chain([Some(plain)]).collect(),
        },
    })
}
