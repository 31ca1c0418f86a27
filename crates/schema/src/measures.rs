//! The measures, once. Every other place (the store's header, OTLP, `--json`, the screens) reads this table.

/// How a unit's value joins its parent's: the last word of the measure's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RollUp {
    /// The parent's is the sum.
    Sum,
    /// The parent's is the largest.
    Max,
    /// Not at all.
    Own,
}

/// What a measure's numbers are, and so how a day is made of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// How much there is now. A day: the most it was.
    Level,
    /// The most seen so far. A day: the most it was.
    Peak,
    /// A running total since the unit's totals began. A day: what it grew by.
    Total,
    /// What it grew by since the look before. A day: the sum.
    Step,
    /// One value a turn or answer, any number of them a look. A day: the sum, or the median where it is `own`.
    Turn,
}

/// Who may say a measure's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaidBy {
    /// Looked at from outside.
    Look,
    /// The agent's proxy; for the machine, its interfaces.
    Proxy,
    /// The agent's harness, in its own file.
    Harness,
    /// The model route, from the provider's answer.
    Route,
    /// The model route where one carries the agent's model, else its harness.
    RouteElseHarness,
    /// Whatever started or stopped the agent, in its `times.jsonl`.
    Times,
    /// A relay, of itself; never a machine.
    Relay,
}

macro_rules! measures {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $unit:literal, $kind:ident, $said_by:ident;)*) => {
        /// A measure: one number of a unit, by a name of this table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Measure { $($(#[$doc])* $variant,)* }

        impl Measure {
            /// Every measure, in the order the store's header and the screens give them.
            pub const ALL: &'static [Measure] = &[$(Measure::$variant,)*];

            /// The name without its `link.`, as the store writes it.
            pub const fn name(self) -> &'static str { match self { $(Measure::$variant => $name,)* } }

            /// The unit in UCUM, as OpenTelemetry writes it: `By`, `s`, `{token}`. Empty for a relay's counts.
            pub const fn unit(self) -> &'static str { match self { $(Measure::$variant => $unit,)* } }

            /// What its numbers are.
            pub const fn kind(self) -> Kind { match self { $(Measure::$variant => Kind::$kind,)* } }

            /// Who may say it.
            pub const fn said_by(self) -> SaidBy { match self { $(Measure::$variant => SaidBy::$said_by,)* } }

            /// The measure of a name, with or without its `link.`.
            pub fn from_name(name: &str) -> Option<Measure> {
                match name.strip_prefix("link.").unwrap_or(name) {
                    $($name => Some(Measure::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

measures! {
    /// Memory in use: proportional set size on Linux, footprint on macOS.
    MemoryUsed = "memory.used.sum", "By", Level, Look;
    /// The most memory seen in use.
    MemoryPeak = "memory.peak.max", "By", Peak, Look;
    /// CPU time used, in core-seconds.
    CpuUsed = "cpu.used.sum", "s", Total, Look;
    /// GPU time used since the last look, in GPU-seconds.
    GpuUsed = "gpu.used.sum", "s", Step, Look;
    /// GPU memory in use.
    GpuMemory = "gpu.memory.sum", "By", Level, Look;
    /// Bytes allocated by an agent's folders.
    DiskUsed = "disk.used.sum", "By", Level, Look;
    /// Files in an agent's folders.
    DiskFiles = "disk.files.sum", "{file}", Level, Look;
    /// Bytes read from disk.
    DiskRead = "disk.read.sum", "By", Total, Look;
    /// Bytes written to disk.
    DiskWritten = "disk.written.sum", "By", Total, Look;
    /// Bytes in, through the agent's proxy or the machine's interfaces.
    NetworkIn = "network.in.sum", "By", Total, Proxy;
    /// Bytes out, through the agent's proxy or the machine's interfaces.
    NetworkOut = "network.out.sum", "By", Total, Proxy;
    /// Processes running.
    Processes = "processes.sum", "{process}", Level, Look;
    /// TCP ports listened on.
    Ports = "ports.sum", "{port}", Level, Look;
    /// Turns answered.
    Turns = "turns.sum", "{turn}", Turn, Harness;
    /// Tools called.
    ToolCalls = "tool_calls.sum", "{call}", Turn, Harness;
    /// What failed.
    Errors = "errors.sum", "{error}", Turn, Harness;
    /// Turns the fallback model answered because the model was off.
    FallbacksOff = "fallbacks.off.sum", "{turn}", Turn, Harness;
    /// Turns the fallback model answered because the prompt was past the model's window.
    FallbacksWindow = "fallbacks.window.sum", "{turn}", Turn, Harness;
    /// Turns the fallback model answered because the provider was busy or failing.
    FallbacksOverloaded = "fallbacks.overloaded.sum", "{turn}", Turn, Harness;
    /// The whole prompt, cached or not.
    TokensInput = "tokens.input.sum", "{token}", Turn, RouteElseHarness;
    /// Everything the model generated.
    TokensOutput = "tokens.output.sum", "{token}", Turn, RouteElseHarness;
    /// Of the prompt, what was read from the provider's cache.
    TokensCached = "tokens.cached.sum", "{token}", Turn, RouteElseHarness;
    /// Of the prompt, what was written to the provider's cache.
    TokensCacheWritten = "tokens.cache_written.sum", "{token}", Turn, RouteElseHarness;
    /// Requests for a model's answer.
    RequestsModel = "requests.model.sum", "{request}", Turn, Route;
    /// Of them, answers that gave no usage.
    RequestsUnmetered = "requests.unmetered.sum", "{request}", Turn, Route;
    /// What the provider said it cost, in micro-dollars; never estimated.
    Cost = "cost.sum", "{microdollar}", Turn, Harness;
    /// From a message in, to the model asked.
    TimeToModel = "time.to_model.own", "s", Turn, Harness;
    /// From a message in, to the answer's first piece out.
    TimeFirstToken = "time.first_token.own", "s", Turn, Harness;
    /// From a message in, to the whole answer.
    TimeTurn = "time.turn.own", "s", Turn, Harness;
    /// An agent's first start since the machine started, until its harness answers.
    TimeStartCold = "time.start_cold.own", "s", Turn, Times;
    /// Any start after.
    TimeStartWarm = "time.start_warm.own", "s", Turn, Times;
    /// A stop, until none of its main processes is left.
    TimeStop = "time.stop.own", "s", Turn, Times;
    /// Connections of a relay's agents, standbys included.
    RelayConnections = "relay.connections.sum", "", Total, Relay;
    /// Public requests a relay received.
    RelayRequests = "relay.requests.sum", "", Total, Relay;
    /// Encoded payload bytes between a relay and its agents.
    RelayBytes = "relay.bytes.sum", "", Total, Relay;
    /// Webhooks a relay couldn't hand on.
    HooksUndelivered = "hooks.undelivered.sum", "", Total, Relay;
}

impl Measure {
    /// How many measures there are.
    pub const COUNT: usize = Self::ALL.len();

    /// Its place in [`Measure::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name other programs see: `link.memory.used.sum`.
    pub fn full_name(self) -> String {
        format!("link.{}", self.name())
    }

    /// How it adds up, by the last word of its name.
    pub fn roll_up(self) -> RollUp {
        match self.name().rsplit('.').next() {
            Some("sum") => RollUp::Sum,
            Some("max") => RollUp::Max,
            _ => RollUp::Own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_ends_in_how_it_adds_up_and_is_found_again() {
        for &measure in Measure::ALL {
            let last = measure.name().rsplit('.').next().unwrap();
            assert!(["sum", "max", "own"].contains(&last), "{}", measure.name());
            assert_eq!(Measure::from_name(measure.name()), Some(measure));
            assert_eq!(Measure::from_name(&measure.full_name()), Some(measure));
            assert_eq!(Measure::ALL[measure.index()], measure);
        }
        assert_eq!(Measure::from_name("link.link.turns.sum"), None);
        assert_eq!(Measure::from_name("memory.used"), None);
    }

    #[test]
    fn only_times_are_own_and_only_turns_have_own() {
        for &measure in Measure::ALL {
            if measure.roll_up() == RollUp::Own {
                assert_eq!((measure.kind(), measure.unit()), (Kind::Turn, "s"), "{}", measure.name());
            }
        }
    }
}
