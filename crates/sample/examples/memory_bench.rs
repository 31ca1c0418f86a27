//! What memory costs when nothing much changes, and how right it stays: a budgeted sampler beside reading all of it.
//!
//! On standard input the number of an agent's main process. Prints one line of JSON: `processes`, `full_usec` (CPU time to
//! read every process's memory once), `look_usec` (CPU time a look spends on it, the mean of the quiet looks),
//! `full_bytes`, `look_bytes`.

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{self, Read, Write};
    use std::path::Path;

    use lnk_sample::linux::sampler::Sampler;
    use lnk_sample::parse::rollup::parse_rollup;
    use lnk_sample::report::Report;
    use lnk_sample::request::Request;
    use lnk_schema::{Look, Measure, UnitKind};
    use rustix::time::{ClockId, clock_gettime};

    const BUDGET_MS: f64 = 5.0;
    /// The first reads go into debt, which the looks after them pay off.
    const PAYING_OFF: usize = 100;
    const QUIET: usize = 300;

    pub fn main() -> io::Result<()> {
        let mut root = String::new();
        io::stdin().read_to_string(&mut root)?;
        let root = root.trim();
        let json =
            format!(r#"{{"machine":{{"id":"bench"}},"agents":[{{"id":"agent","from":"link","pids":[{root}]}}]}}"#);
        let request = Request::from_json(&json).map_err(io::Error::other)?;
        let mut sampler = Sampler::open(Path::new("/"), BUDGET_MS).map_err(io::Error::other)?;
        let mut look = || sampler.look(&request).map_err(io::Error::other);
        for _ in 0..PAYING_OFF {
            look()?;
        }
        let mut spent = 0.0;
        for _ in 0..QUIET {
            spent += memory_usec(&look()?.1);
        }
        let (last, _) = look()?;
        let pids = processes(&last);
        let (full_bytes, full_usec) = read_all(&pids)?;
        let agent = last.units.iter().find(|unit| unit.kind == UnitKind::Agent);
        let look_bytes = agent.and_then(|agent| agent.values.get(Measure::MemoryUsed)).unwrap_or(0.0);
        let (look_usec, processes) = (spent / QUIET as f64, pids.len());
        writeln!(
            io::stdout(),
            "{{\"processes\":{processes},\"full_usec\":{full_usec:.1},\"look_usec\":{look_usec:.1},\"full_bytes\":{full_bytes},\"look_bytes\":{look_bytes}}}"
        )
    }

    fn memory_usec(report: &Report) -> f64 {
        report
            .sources
            .iter()
            .filter(|source| source.source.ends_with("smaps_rollup"))
            .map(|source| source.cost.micros)
            .sum()
    }

    fn processes(look: &Look) -> Vec<String> {
        let ids = look.units.iter().filter(|unit| unit.kind == UnitKind::Process).map(|unit| unit.id.as_str());
        ids.filter_map(|id| id.rsplit_once('/')).map(|(_, pid)| pid.to_string()).collect()
    }

    /// Every process's proportional set size, and the CPU time it took.
    fn read_all(pids: &[String]) -> io::Result<(u64, f64)> {
        let before = cpu_usec();
        let mut bytes = 0;
        for pid in pids {
            let file = std::fs::read(format!("/proc/{pid}/smaps_rollup"))?;
            bytes += parse_rollup(&file).map_or(0, |rollup| rollup.pss_kb * 1024);
        }
        Ok((bytes, cpu_usec() - before))
    }

    /// The CPU time of this thread.
    fn cpu_usec() -> f64 {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        now.tv_sec as f64 * 1e6 + now.tv_nsec as f64 / 1e3
    }
}
