//! What went wrong with a file, in words of ours: never a word of the file's.

use std::fmt;
use std::io::ErrorKind;

/// Why a file isn't read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refused {
    /// It, or a folder on the way to it, is a symbolic link.
    Link,
    /// It isn't a plain file, or what should be a folder isn't one.
    NotPlain,
    /// It has another name (a hard link), so it may be somebody else's.
    OtherName,
    /// Its name leads to another file each time it is opened.
    Moving,
    /// It belongs to another user than its home does.
    Owner,
    /// It is on another file system than its home is.
    OtherFileSystem,
    /// It isn't below the home of whoever writes it.
    Elsewhere,
    /// It is one of the kernel's own, under `/proc`.
    Kernels,
    /// The system won't open or read it.
    System(ErrorKind),
}

/// Something to say once about one look at a file. None is there twice in a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Note {
    /// The file isn't read.
    Refused(Refused),
    /// A line of more than 64 KiB was stepped over.
    LongLine,
    /// A line that isn't what it should be was stepped over.
    BadLine,
    /// A value out of its measure's bounds was left out.
    OutOfBounds,
    /// The file was cut short, or begun anew in place, and is read from its beginning.
    BegunAnew,
    /// Files that were moved aside and are still written to are too many; the oldest is no longer read.
    TooMany,
    /// A count was less than before within one run of whoever counts: all of it was taken as new.
    Fell,
    /// A tokens file that isn't one; what it had counted stays counted.
    NoTokens,
    /// A read that was begun earlier has not come to its end.
    NoAnswer,
    /// The thread that read the file ended without an answer.
    Failed,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Link => f.write_str("a symbolic link is in its place or on the way to it"),
            Refused::NotPlain => f.write_str("it isn't a plain file in a folder"),
            Refused::OtherName => f.write_str("it has another name, a hard link"),
            Refused::Moving => f.write_str("another file has its name each time it is opened"),
            Refused::Owner => f.write_str("it belongs to another user than the folder it should be in"),
            Refused::OtherFileSystem => f.write_str("it is on another file system than the folder it should be in"),
            Refused::Elsewhere => f.write_str("it isn't below its agent's home"),
            Refused::Kernels => f.write_str("it is under /proc"),
            // The kind's own words: an OS error's text may have more.
            Refused::System(kind) => write!(f, "{kind}"),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Refused(why) => write!(f, "not read: {why}"),
            Note::LongLine => f.write_str("a line of more than 64 KiB was stepped over"),
            Note::BadLine => f.write_str("a line that isn't as it should be was stepped over"),
            Note::OutOfBounds => f.write_str("a value that can't be was left out"),
            Note::BegunAnew => f.write_str("cut short or begun anew; read from its beginning"),
            Note::TooMany => f.write_str("moved aside too often while it is written to; the oldest is no longer read"),
            Note::Fell => f.write_str("a count of its route is lower than before; all of it is taken as new"),
            Note::NoTokens => f.write_str("its tokens file isn't one"),
            Note::NoAnswer => f.write_str("reading it doesn't come to an end"),
            Note::Failed => f.write_str("reading it failed"),
        }
    }
}
