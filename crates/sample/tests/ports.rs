//! Listening sockets: real ones, bound and closed here.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, reason = "tests: the helpers' own too")]

mod made;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use lnk_sample::linux::ports::{Listening, PortsReader, held_sockets, network_namespace};
use lnk_sample::{Absent, Why};
use made::Made;
use rustix::net::{AddressFamily, SocketType, bind, listen, socket, sockopt::set_socket_reuseport};

fn root() -> &'static Path {
    Path::new("/")
}

fn reader() -> PortsReader {
    PortsReader::open(root()).expect("a reader")
}

fn listening() -> Vec<Listening> {
    let listeners = reader().read().expect("a list");
    assert_eq!(listeners.without_diag, None);
    listeners.sockets
}

fn inode(socket: impl AsFd) -> u64 {
    rustix::fs::fstat(socket).expect("an inode").st_ino
}

/// The ports of those of `inodes` that listen, in their order; each has to be there once at most.
fn ports_of(sockets: &[Listening], inodes: &[u64]) -> Vec<Option<u16>> {
    let port = |inode: &u64| {
        let mut found = sockets.iter().filter(|socket| socket.inode == *inode);
        let port = found.next().map(|socket| socket.port);
        assert_eq!(found.next(), None, "a socket is listed twice");
        port
    };
    inodes.iter().map(port).collect()
}

#[test]
fn sockets_of_both_families_are_seen_until_they_are_closed() {
    let sockets: Vec<_> = ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"]
        .iter()
        .filter_map(|address| {
            let listener = TcpListener::bind(address);
            if let Err(error) = &listener {
                assert!(address.starts_with('['), "{address}: {error}");
                made::loud::not_tested(&format!("{address}: {error}"));
            }
            listener.ok()
        })
        .collect();
    let ports: Vec<_> = sockets.iter().map(|socket| socket.local_addr().ok().map(|address| address.port())).collect();
    let inodes: Vec<_> = sockets.iter().map(inode).collect();
    assert_eq!(ports_of(&listening(), &inodes), ports);
    // Neither end of a connection listens.
    let client = TcpStream::connect(sockets[0].local_addr().expect("an address")).expect("a connection");
    let (server, _) = sockets[0].accept().expect("a connection");
    assert_eq!(ports_of(&listening(), &[inode(&client), inode(&server)]), [None, None]);
    let mut reader = reader();
    assert_eq!(ports_of(&reader.read().expect("a list").sockets, &inodes), ports);
    drop(sockets);
    assert_eq!(ports_of(&reader.read().expect("a list").sockets, &inodes), vec![None; inodes.len()]);
}

/// A socket on `port` that lets others have it too.
fn shared(port: u16) -> (OwnedFd, u16) {
    let shared = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    set_socket_reuseport(&shared, true).expect("a shared port");
    bind(&shared, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).expect("an address");
    listen(&shared, 1).expect("it to listen");
    let address = rustix::net::getsockname(&shared).expect("an address");
    (shared, SocketAddrV4::try_from(address).expect("of version 4").port())
}

#[test]
fn sockets_that_share_a_port_are_told_apart() {
    let (first, port) = shared(0);
    let (second, _) = shared(port);
    assert_eq!(ports_of(&listening(), &[inode(&first), inode(&second)]), [Some(port), Some(port)]);
}

#[test]
fn a_socket_that_is_bound_but_does_not_listen_is_none() {
    let bound = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&bound, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("an address");
    assert_eq!(ports_of(&listening(), &[inode(&bound)]), [None]);
}

#[test]
fn both_ways_of_asking_agree() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let mut reader = reader();
    let find = |sockets: Vec<Listening>| sockets.into_iter().find(|socket| socket.inode == inode(&listener));
    let quick = find(reader.read().expect("a list").sockets).expect("it");
    let slow = find(reader.read_of(std::process::id()).expect("a list")).expect("it");
    assert_eq!(slow, Listening { cgroup_id: None, ..quick });
    assert_eq!(quick.uid, rustix::process::getuid().as_raw());
}

#[test]
fn a_processs_sockets_are_found_among_its_files() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let file = fs::File::open("/proc/self/stat").expect("a file");
    let held = held_sockets(root(), std::process::id()).expect("its sockets");
    assert!(held.inodes.contains(&inode(&listener)) && !held.inodes.contains(&inode(&file)));
    assert_eq!(held.denied, 0);
    drop(listener);
}

#[test]
fn a_process_that_is_gone_says_so() {
    let mut child = Command::new("true").spawn().expect("a child");
    let pid = child.id();
    child.wait().expect("its end");
    let why = |absent: Absent| absent.why;
    assert_eq!(held_sockets(root(), pid).map_err(why), Err(Why::Gone));
    assert_eq!(network_namespace(root(), pid).map_err(why), Err(Why::Gone));
    assert_eq!(reader().read_of(pid).map_err(why), Err(Why::Gone));
}

/// Set for a process of this test binary that is to listen.
const LISTEN: &str = "LNK_TEST_LISTEN";

/// No test of its own: what [`Listener`] runs. Waits for a line, listens, says its port, waits for its input's end.
#[test]
fn helper_that_listens() {
    if std::env::var_os(LISTEN).is_none() {
        return;
    }
    let mut lines = std::io::stdin().lines();
    lines.next();
    let listener = TcpListener::bind("0.0.0.0:0").expect("a listener");
    println!("port {} inode {}", listener.local_addr().expect("an address").port(), inode(&listener));
    lines.for_each(drop);
}

/// Another process with a socket that listens.
struct Listener {
    child: Child,
}

impl Listener {
    fn start(mut command: Command) -> Listener {
        command.args(["--exact", "helper_that_listens", "--nocapture"]).env(LISTEN, "1");
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a child");
        Listener { child }
    }

    /// Has it listen. Its port and its socket's inode; `None` if it couldn't even start.
    fn listen(&mut self) -> Option<(u16, u64)> {
        let input = self.child.stdin.as_mut().expect("its input");
        // Its input is closed if what was to start it failed: then there is no answer.
        drop(input.write_all(b"listen\n"));
        let answer = BufReader::new(self.child.stdout.take().expect("its output"));
        let line = answer.lines().map_while(Result::ok).find_map(|line| {
            let at = line.find("port ")?;
            Some(line[at..].to_owned())
        })?;
        let words: Vec<_> = line.split(' ').collect();
        Some((words[1].parse().expect("a port"), words[3].parse().expect("an inode")))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn this_program() -> Command {
    Command::new(std::env::current_exe().expect("this program"))
}

#[test]
fn a_socket_is_known_by_the_group_it_was_made_in() {
    let Some(made) = Made::v2("listen") else { return };
    let below = made.dir.join("below");
    fs::create_dir(&below).expect("a group");
    let mut listener = Listener::start(this_program());
    fs::write(below.join("cgroup.procs"), listener.child.id().to_string()).expect("it to move");
    let (port, inode) = listener.listen().expect("it to listen");
    let sockets = listening();
    let group = fs::metadata(&below).expect("the group").ino();
    let found: Vec<_> = sockets.iter().filter(|socket| socket.cgroup_id == Some(group)).collect();
    let [found] = found[..] else { panic!("{found:?}") };
    assert_eq!((found.port, found.inode), (port, inode));
    assert_eq!(held_sockets(root(), listener.child.id()).expect("its sockets").inodes, [inode]);
}

#[test]
fn sockets_of_another_network_are_seen_through_its_process() {
    let mut command = Command::new("unshare");
    command.arg("--net").arg(std::env::current_exe().expect("this program"));
    let mut listener = Listener::start(command);
    let Some((port, inode)) = listener.listen() else {
        made::loud::not_tested("a network namespace can't be made here");
        return;
    };
    let pid = listener.child.id();
    assert_ne!(network_namespace(root(), pid), network_namespace(root(), std::process::id()));
    let mut reader = reader();
    let theirs: Vec<_> = reader.read_of(pid).expect("a list").iter().map(|one| (one.port, one.inode)).collect();
    assert_eq!(theirs, [(port, inode)]);
    assert_eq!(ports_of(&reader.read().expect("a list").sockets, &[inode]), [None]);
}
