//! Closed spans are compressed, and whole files past their time deleted.

use std::io::{ErrorKind, Result};
use std::path::Path;

use crate::carry::{LineReader, Registry};
use crate::files::{Files, retried, write_all};
use crate::load::{
    Both, Found, compare, folder_of, is_temporary, list_spans, load, packed_path, plain_path, read_if_there,
    temporary_path,
};
use crate::pack::{pack, unpack};
use crate::span::{Part, Span};

/// Removes what a compression that was cut off left behind.
pub(crate) fn remove_temporary(files: &dyn Files, folder: &Path, part: Part) -> Result<()> {
    let folder = folder_of(folder, part);
    for name in retried(|| files.list(&folder))?.into_iter().filter(|name| is_temporary(part, name)) {
        retried(|| files.remove(&folder.join(&name)))?;
    }
    Ok(())
}

/// Compresses a closed span that still has a plain file. The plain file goes only once the compressed one was read back
/// and is on the disk under its name.
pub(crate) fn compress(files: &dyn Files, folder: &Path, part: Part, span: Span) -> Result<()> {
    let path = plain_path(folder, part, span);
    let Some(plain) = read_if_there(files, &path)? else { return Ok(()) };
    let packed = read_if_there(files, &packed_path(folder, part, span))?;
    let both = packed.as_deref().map_or(Both::Plain, |packed| compare(&plain, &unpack(packed)));
    match (both, packed) {
        (Both::Packed, _) => {}
        (Both::Each, Some(mut bytes)) => {
            bytes.extend(pack(&plain)?);
            replace(files, folder, part, span, &bytes, |whole| whole.ends_with(&plain))?;
        }
        _ => replace(files, folder, part, span, &pack(&plain)?, |whole| whole == plain)?,
    }
    // The rename must be on the disk before the plain file goes, or a power cut may undo the one and not the other; of
    // one found done too.
    retried(|| files.sync_folder(&folder_of(folder, part)))?;
    retried(|| files.remove(&path))
}

fn replace(
    files: &dyn Files,
    folder: &Path,
    part: Part,
    span: Span,
    bytes: &[u8],
    holds: impl Fn(&[u8]) -> bool,
) -> Result<()> {
    let temporary = temporary_path(folder, part, span);
    let written = write_new(files, &temporary, bytes).and_then(|()| {
        let back = unpack(&retried(|| files.read(&temporary, u64::MAX))?).whole();
        let right = back.is_some_and(|whole| holds(&whole));
        if right { Ok(()) } else { Err(ErrorKind::InvalidData.into()) }
    });
    match written.and_then(|()| retried(|| files.rename(&temporary, &packed_path(folder, part, span)))) {
        Err(error) => {
            // Whatever the removal says, the error that led to it is the one to tell; the next start removes it too.
            let _ = files.remove(&temporary);
            Err(error)
        }
        done => done,
    }
}

/// Writes a new file, on the disk when it returns.
pub(crate) fn write_new(files: &dyn Files, path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = retried(|| files.create(path))?;
    write_all(&mut *file, bytes)?;
    retried(|| file.sync())
}

/// The time to reckon ages from: the clock's, but no later than the last look of the span before the newest.
///
/// A clock that is wrong for a look would make everything old at once; it takes a whole span of looks to be believed.
/// `None`: there is no such span, so nothing is old.
pub(crate) fn believed_now(files: &dyn Files, folder: &Path, newest: Span, now_ms: u64) -> Result<Option<u64>> {
    let before = list_spans(files, folder, Part::Fine)?.range(..newest).next_back().map(|(span, _)| *span);
    let last = before.map(|span| last_look(files, folder, Part::Fine, span)).transpose()?.flatten();
    Ok(last.map(|last| last.min(now_ms)))
}

/// The time of the latest look in a file; by its content, since a name may come from a wrong clock.
fn last_look(files: &dyn Files, folder: &Path, part: Part, span: Span) -> Result<Option<u64>> {
    let (mut reader, mut ids, mut last) = (LineReader::default(), Registry::default(), None);
    for bytes in load(files, folder, part, span)?.iter().flatten() {
        let mut at = 0;
        while reader.next(bytes, &mut at, &mut ids, &|_| false) {
            last = last.max(Some(reader.look().at_ms));
        }
    }
    Ok(last)
}

/// Deletes the files of a part that end more than `keep_ms` before `now_ms`, the newest never.
pub(crate) fn delete_old(
    files: &dyn Files,
    folder: &Path,
    part: Part,
    newest: Span,
    keep_ms: u64,
    now_ms: u64,
) -> Result<()> {
    for (span, Found { plain, packed }) in list_spans(files, folder, part)?.range(..newest) {
        let end = (span + 1) * part.span_ms();
        // A name never lies before its looks, but may lie years after them.
        let end = if end > now_ms { last_look(files, folder, part, *span)?.unwrap_or(end) } else { end };
        if end.saturating_add(keep_ms) >= now_ms {
            continue;
        }
        for (there, path) in [(*plain, plain_path(folder, part, *span)), (*packed, packed_path(folder, part, *span))] {
            if there {
                retried(|| files.remove(&path))?;
            }
        }
    }
    Ok(())
}
