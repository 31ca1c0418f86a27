//! What a look costs: the sampler alone, without Node.
//!
//! On standard input a line an agent, each the number of its main process. The argument is the CPU milliseconds a look may
//! spend on memory; 0 reads none. Prints one line of JSON: `peer`, `processes`, `wall_usec` (the median look) and
//! `cpu_usec` (the mean, the slow thread's included).

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
    use std::time::{Duration, Instant};

    use lnk_sample::linux::sampler::Sampler;
    use lnk_sample::request::Request;
    use rustix::time::{ClockId, clock_gettime};

    const MEASURED: Duration = Duration::from_secs(2);
    /// Looks before the first that counts: every process is known by then, and its memory read where it is to be.
    const BEFORE: usize = 20;

    pub fn main() -> io::Result<()> {
        let mut roots = String::new();
        io::stdin().read_to_string(&mut roots)?;
        let agents: Vec<String> = roots
            .split_whitespace()
            .map(|pid| format!(r#"{{"id":"agent-{pid}","name":"agent-{pid}","from":"link","pids":[{pid}]}}"#))
            .collect();
        let json = format!(r#"{{"machine":{{"id":"bench","name":"bench"}},"agents":[{}]}}"#, agents.join(","));
        let request = Request::from_json(&json).map_err(io::Error::other)?;
        let budget_ms: f64 = std::env::args().nth(1).and_then(|ms| ms.parse().ok()).unwrap_or(5.0);
        let mut sampler = Sampler::open(Path::new("/"), budget_ms).map_err(io::Error::other)?;

        let mut units = 0;
        for _ in 0..BEFORE {
            units = sampler.look(&request).map_err(io::Error::other)?.0.units.len();
        }
        let (start, cpu_start) = (Instant::now(), cpu_usec());
        let mut walls = Vec::new();
        while start.elapsed() < MEASURED {
            let look_start = Instant::now();
            sampler.look(&request).map_err(io::Error::other)?;
            walls.push(look_start.elapsed());
        }
        let cpu = (cpu_usec() - cpu_start) / walls.len() as f64;
        walls.sort_unstable();
        let wall = walls[walls.len() / 2].as_secs_f64() * 1e6;
        let peer = if budget_ms > 0.0 { "look, memory too" } else { "look" };
        let processes = units - 1 - agents.len();
        writeln!(
            io::stdout(),
            "{{\"peer\":\"{peer}\",\"processes\":{processes},\"wall_usec\":{wall:.1},\"cpu_usec\":{cpu:.1}}}"
        )
    }

    /// The CPU time of this process.
    fn cpu_usec() -> f64 {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        now.tv_sec as f64 * 1e6 + now.tv_nsec as f64 / 1e3
    }
}
