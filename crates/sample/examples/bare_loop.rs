//! The floor of a look: the reads it can't do without, through kept descriptors, and nothing done with the bytes.
//!
//! Pids on standard input, apart by white space. One pass lists `/proc`, reads the machine's files, `stat` of every process
//! there is, `io` of each one given, and has the kernel list the listening sockets. Prints one line of JSON: `peer`, `processes`, `wall_usec` (the median pass) and `cpu_usec` (the
//! mean).

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::{self, Read, Write};
    use std::mem::MaybeUninit;
    use std::os::unix::fs::FileExt;
    use std::time::{Duration, Instant};

    use lnk_sample::linux::ports::PortsReader;
    use rustix::fs::{RawDir, SeekFrom, seek};
    use rustix::time::{ClockId, clock_gettime};

    const MEASURED: Duration = Duration::from_secs(2);
    /// Whole files of several lines: read until the end is seen.
    const MACHINE: [&str; 4] = ["/proc/stat", "/proc/meminfo", "/proc/diskstats", "/proc/net/dev"];

    struct Kept {
        proc: File,
        machine: Vec<File>,
        /// A record each, got whole by one read.
        stat: Vec<File>,
        io: Vec<File>,
        ports: PortsReader,
    }

    pub fn main() -> io::Result<()> {
        let mut pids = String::new();
        io::stdin().read_to_string(&mut pids)?;
        let pids: Vec<&str> = pids.split_whitespace().collect();
        let of_each = |file| {
            let files = pids.iter().map(|pid| File::open(format!("/proc/{pid}/{file}")));
            files.collect::<io::Result<Vec<_>>>()
        };
        let mut kept = Kept {
            proc: File::open("/proc")?,
            machine: MACHINE.iter().map(File::open).collect::<io::Result<_>>()?,
            stat: every_stat()?,
            io: of_each("io")?,
            ports: PortsReader::open("/".as_ref()).map_err(io::Error::other)?,
        };
        let (mut buffer, mut entries) = (vec![0; 1 << 16], Vec::with_capacity(32 << 10));
        pass(&mut kept, &mut buffer, entries.spare_capacity_mut())?;

        let (start, cpu_start) = (Instant::now(), cpu_usec());
        let mut walls = Vec::new();
        while start.elapsed() < MEASURED {
            let pass_start = Instant::now();
            pass(&mut kept, &mut buffer, entries.spare_capacity_mut())?;
            walls.push(pass_start.elapsed());
        }
        let cpu = (cpu_usec() - cpu_start) / walls.len() as f64;
        walls.sort_unstable();
        let wall = walls[walls.len() / 2].as_secs_f64() * 1e6;
        let processes = pids.len();
        writeln!(
            io::stdout(),
            "{{\"peer\":\"bare loop\",\"processes\":{processes},\"wall_usec\":{wall:.1},\"cpu_usec\":{cpu:.1}}}"
        )
    }

    fn pass(kept: &mut Kept, buffer: &mut [u8], entries: &mut [MaybeUninit<u8>]) -> io::Result<()> {
        seek(&kept.proc, SeekFrom::Start(0))?;
        let mut listing = RawDir::new(&kept.proc, entries);
        while let Some(entry) = listing.next() {
            entry?;
        }
        for file in &kept.machine {
            let mut filled = 0;
            loop {
                let read = file.read_at(&mut buffer[filled..], filled as u64)?;
                filled += read;
                if read == 0 {
                    break;
                }
            }
        }
        for file in kept.stat.iter().chain(&kept.io) {
            // One that ended meanwhile is no reason to stop.
            let _ = file.read_at(buffer, 0);
        }
        kept.ports.read().map(drop).map_err(io::Error::other)
    }

    fn every_stat() -> io::Result<Vec<File>> {
        let names = std::fs::read_dir("/proc")?.flatten().map(|entry| entry.path());
        let pids =
            names.filter(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0].is_ascii_digit()));
        Ok(pids.filter_map(|path| File::open(path.join("stat")).ok()).collect())
    }

    /// The CPU time of this process.
    fn cpu_usec() -> f64 {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        now.tv_sec as f64 * 1e6 + now.tv_nsec as f64 / 1e3
    }
}
