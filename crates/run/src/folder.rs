//! What a folder holds: how many files, of how many bytes.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime};

use lnk_sample::{Absent, Why};

const FOLDER: &str = "its folder";

/// How long the command's start waits for its folder to be counted: what a person doesn't notice.
const WAIT: Duration = Duration::from_millis(10);

/// How long counting may take: at the end somebody waits for it.
const LONGEST: Duration = Duration::from_secs(2);

/// What is in a folder and all folders below it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// Files of any kind, and folders not.
    pub files: u64,
    /// Their lengths: what was just written has no blocks yet.
    pub bytes: u64,
}

/// A folder by its device and number, whatever leads to it.
type Inode = (u64, u64);

/// What a folder grew by; negative where it shrank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// Files.
    pub files: i64,
    /// Bytes.
    pub bytes: i64,
    /// Whether its first count was still going on as the command ran: then what changed before it was counted is missing.
    pub about: bool,
}

/// What a count came to: nothing, where it took too long.
type Count = Option<Held>;

/// A folder that is being counted, or has been.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    except: Option<Inode>,
    first: Receiver<Count>,
    counted: Option<Count>,
    stop: Arc<AtomicBool>,
}

impl Folder {
    /// Begins to count in a thread of its own, and waits a moment for it. What is below `except`, where this program
    /// itself writes, doesn't count.
    pub(crate) fn begin(path: PathBuf, except: &Path) -> Folder {
        let except = std::fs::metadata(except).ok().map(|folder| (folder.dev(), folder.ino()));
        let (send, first) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let (below, stopped) = (path.clone(), Arc::clone(&stop));
        let began = SystemTime::now();
        let thread = std::thread::Builder::new().name("lnk-folder".into());
        // Without a thread nothing comes, which is said at the end.
        let _ = thread.spawn(move || send.send(count(&below, except, Some(began), &stopped)));
        let counted = first.recv_timeout(WAIT).ok();
        Folder { path, except, first, counted, stop }
    }

    /// Counts again: what it grew by.
    ///
    /// # Errors
    /// [`Why::Timeout`] where it holds too much to be counted.
    pub(crate) fn end(mut self) -> Result<Growth, Absent> {
        let about = self.counted.is_none();
        let timeout = |detail| Absent::new(Why::Timeout, FOLDER, detail);
        let before = self.counted.take().or_else(|| self.first.try_recv().ok()).flatten();
        self.stop.store(true, Ordering::SeqCst);
        let before =
            before.ok_or_else(|| timeout("holds more files than could be counted before the command ended"))?;
        let after = count(&self.path, self.except, None, &AtomicBool::new(false));
        let after = after.ok_or_else(|| timeout("holds too many files to be counted"))?;
        let grown = |before: u64, after: u64| after.cast_signed().saturating_sub(before.cast_signed());
        Ok(Growth { files: grown(before.files, after.files), bytes: grown(before.bytes, after.bytes), about })
    }
}

/// Counts what a folder holds. Not what was made after `began`, as far as the file system says when that was; no link is
/// followed, no other file system entered, and a file with several names counts once. `None`: it takes too long, or is to
/// stop.
fn count(path: &Path, except: Option<Inode>, began: Option<SystemTime>, stop: &AtomicBool) -> Count {
    let until = Instant::now() + LONGEST;
    let device = std::fs::symlink_metadata(path).ok()?.dev();
    let mut held = Held::default();
    let mut several = HashSet::new();
    let mut waiting = vec![path.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        if Instant::now() > until || stop.load(Ordering::SeqCst) {
            return None;
        }
        // Gone meanwhile, or not ours to see.
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(file) = entry.metadata() else { continue };
            if file.is_dir() {
                if file.dev() == device && except != Some((file.dev(), file.ino())) {
                    waiting.push(entry.path());
                }
                continue;
            }
            let is_new = began.is_some_and(|began| file.created().is_ok_and(|made| made > began));
            if is_new || (file.nlink() > 1 && !several.insert(file.ino())) {
                continue;
            }
            held.files += 1;
            held.bytes += file.len();
        }
    }
    Some(held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_grows_by_what_is_written_and_shrinks_by_what_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("stays"), [0; 100]).unwrap();
        std::fs::write(at("goes"), [0; 3000]).unwrap();
        std::fs::create_dir(at("ours")).unwrap();
        let begun = Folder::begin(folder.path().to_path_buf(), &at("ours"));
        std::fs::write(at("ours/report"), [0; 700]).unwrap();
        std::fs::create_dir(at("below")).unwrap();
        std::fs::write(at("below/new"), [0; 500]).unwrap();
        std::fs::hard_link(at("below/new"), at("another name")).unwrap();
        std::os::unix::fs::symlink("/", at("away")).unwrap();
        std::fs::write(at("stays"), [0; 150]).unwrap();
        std::fs::remove_file(at("goes")).unwrap();
        let growth = begun.end().unwrap();
        // The new file and the link, which is as long as what it says, less the one that went.
        assert_eq!((growth.files, growth.bytes), (1, 500 + 1 + 50 - 3000));
    }

    #[test]
    fn what_was_made_since_is_not_of_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        let began = SystemTime::now() - Duration::from_secs(60);
        std::fs::write(&path, [0; 10]).unwrap();
        if std::fs::metadata(&path).unwrap().created().is_ok() {
            let held = count(folder.path(), None, Some(began), &AtomicBool::new(false));
            assert_eq!(held, Some(Held::default()));
        }
    }
}
