//! The programs there are words for. What a process calls itself is what it chose, so a word is kept only if it is in
//! one of these two lists, and what is kept is the list's own word.

/// The programs a process may be named by: Link's own, the sandboxes', and what harnesses run on.
const PROCESS_NAMES: &[&str] = &[
    "lnk",
    "lnk-agent",
    "lnk-harness",
    "lnk-measure",
    "lnk-models",
    "lnk-relay",
    "lnk-sandbox",
    "lnk-wire",
    "bwrap",
    "sandbox-exec",
    "node",
    "bun",
    "deno",
    "python",
    "python3",
    "uv",
];

/// Programs whose first script argument says what they really run.
const INTERPRETERS: &[&str] = &["node", "bun", "deno", "python", "python3", "uv"];

/// A harness known by its program.
#[derive(Debug, PartialEq, Eq)]
pub struct Harness {
    /// The word it is shown by, and the name its program has.
    pub program: &'static str,
    /// Packages whose script, run by an interpreter, is this harness too.
    pub packages: &'static [&'static str],
}

const fn harness(program: &'static str, packages: &'static [&'static str]) -> Harness {
    Harness { program, packages }
}

/// The harnesses found by their program: to add one, add it here.
pub const HARNESSES: &[Harness] = &[
    harness("aider", &["aider"]),
    harness("amp", &["@sourcegraph/amp"]),
    harness("auggie", &["@augmentcode/auggie"]),
    harness("claude", &["@anthropic-ai/claude-code"]),
    harness("codex", &["@openai/codex"]),
    harness("copilot", &["@github/copilot"]),
    harness("crush", &["@charmland/crush"]),
    harness("cursor-agent", &[]),
    harness("droid", &[]),
    harness("gemini", &["@google/gemini-cli"]),
    harness("goose", &[]),
    harness("hermes", &["hermes-agent"]),
    harness("kimi", &["kimi-cli"]),
    harness("openclaw", &["openclaw"]),
    harness("opencode", &["opencode-ai"]),
    harness("openhands", &["openhands-ai"]),
    harness("qwen", &["@qwen-code/qwen-code"]),
];

/// The word a process is named by, from its program's file name. `None`: it has no name, only its ID.
pub fn process_name(program: &str) -> Option<&'static str> {
    let program = without_version(program);
    PROCESS_NAMES.iter().copied().find(|name| *name == program)
}

/// Whether a program's first script argument says what it runs.
pub fn is_interpreter(program: &str) -> bool {
    INTERPRETERS.contains(&without_version(program))
}

/// Whether a process of this name is a sandbox's.
pub fn is_sandbox(name: &str) -> bool {
    matches!(name, "bwrap" | "sandbox-exec")
}

/// The harness of a program's file name.
pub fn harness_of_program(program: &str) -> Option<&'static Harness> {
    HARNESSES.iter().find(|harness| harness.program == program)
}

/// The harness of a script an interpreter runs: by its file name, by the package it lies in, or by the module's name
/// (`python -m aider`).
pub fn harness_of_script(script: &str) -> Option<&'static Harness> {
    let file = script.rsplit('/').next().unwrap_or(script);
    let stem = [".js", ".mjs", ".cjs", ".ts", ".py"].iter().find_map(|end| file.strip_suffix(end)).unwrap_or(file);
    harness_of_program(stem).or_else(|| {
        let package = script.rsplit_once("node_modules/").or_else(|| script.rsplit_once("site-packages/"))?.1;
        HARNESSES.iter().find(|harness| {
            harness.packages.iter().any(|name| package.strip_prefix(name).is_some_and(|rest| rest.starts_with('/')))
        })
    })
}

/// `python3.11` is python3, `python3` and `node` are themselves.
fn without_version(program: &str) -> &str {
    match program.strip_prefix("python3.") {
        Some(minor) if !minor.is_empty() && minor.bytes().all(|b| b.is_ascii_digit()) => "python3",
        _ => program,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_named_only_from_the_list() {
        assert_eq!(process_name("node"), Some("node"));
        assert_eq!(process_name("python3.11"), Some("python3"));
        for other in ["bash", "claude", "Node", "node ", "python3.x", "python3.", "", "secret.py"] {
            assert_eq!(process_name(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_harness_is_found_by_script_package_or_module() {
        let program = |script| harness_of_script(script).map(|harness| harness.program);
        assert_eq!(program("/usr/bin/gemini"), Some("gemini"));
        assert_eq!(program("/opt/lib/node_modules/@openai/codex/bin/codex.js"), Some("codex"));
        assert_eq!(program("/opt/lib/node_modules/@anthropic-ai/claude-code/cli.js"), Some("claude"));
        assert_eq!(program("aider"), Some("aider"));
        assert_eq!(program("/home/me/claude/server.js"), None);
        assert_eq!(program("/x/node_modules/openclaw-theme/index.js"), None);
        assert_eq!(program(""), None);
    }

    #[test]
    fn every_word_of_both_lists_is_a_name() {
        for word in PROCESS_NAMES.iter().copied().chain(HARNESSES.iter().map(|harness| harness.program)) {
            assert!(crate::Name::new(word).is_some(), "{word}");
        }
    }
}
