//! Pure parsers: the bytes of a kernel file in, numbers out.
//!
//! They take bytes, never text: a process's name, a group's path and an interface's name are any bytes. They allocate
//! nothing, panic on nothing, skip what they can't read line by line, and read past columns and keys they don't know:
//! the kernel has added to every one of these files. A field that isn't there is `None`, never 0.

pub mod blkio;
pub mod cgroup;
pub mod cmdline;
pub mod cpustat;
pub mod diskstats;
pub mod ids;
pub mod io;
pub mod iostat;
pub mod meminfo;
pub mod mountinfo;
pub mod netdev;
pub mod proctcp;
pub mod rollup;
pub mod sockdiag;
pub mod stat;

/// A decimal number and nothing else: no sign, no blank, none past 2^64.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |byte: &u8| u64::from(byte - b'0');
    // 19 digits always fit.
    let (sure, rest) = text.split_at(text.len().min(19));
    let sure = sure.iter().fold(0, |so_far, byte| so_far * 10 + digit(byte));
    rest.iter().try_fold(sure, |so_far: u64, byte| so_far.checked_mul(10)?.checked_add(digit(byte)))
}

/// [`number`], where the kernel has 32 bits.
pub(crate) fn number32(text: &[u8]) -> Option<u32> {
    u32::try_from(number(text)?).ok()
}

/// A file's lines, without their newlines.
pub(crate) fn lines(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    file.split(|byte| *byte == b'\n')
}

/// A line's words, however many blanks part them.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}

/// A line's key and the first word after it, parted by a colon, blanks or both: some kernels leave out the one or the
/// other (psutil gh-2809, gh-1004). `None` for a line without a value.
pub(crate) fn keyed(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = line.iter().position(|byte| matches!(byte, b':' | b' ' | b'\t'))?;
    let (key, rest) = line.split_at(end);
    let rest = if rest[0] == b':' { &rest[1..] } else { rest };
    let value = words(rest).find(|word| *word != b":")?;
    if key.is_empty() { None } else { Some((key, value)) }
}

/// `MAJOR:MINOR`.
pub(crate) fn device(text: &[u8]) -> Option<Device> {
    let colon = memchr::memchr(b':', text)?;
    Some(Device { major: number32(&text[..colon])?, minor: number32(&text[colon + 1..])? })
}

/// A block device, by the kernel's own numbers for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device {
    /// The driver's number.
    pub major: u32,
    /// The device's number among the driver's.
    pub minor: u32,
}

#[cfg(test)]
mod hostile;
