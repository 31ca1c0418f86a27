//! TCP ports that are listened on.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketType, bind, ipproto, listen as start_listening, socket, sockopt};

use crate::nest::Nest;

pub fn listen(nest: &mut Nest, sockets: &[&[u8]]) -> io::Result<()> {
    let mut held = Vec::new();
    for socket in sockets {
        let wanted = String::from_utf8_lossy(socket);
        let (kind, port) = wanted.split_once(':').ok_or_else(|| io::Error::other("not KIND:PORT"))?;
        let listener = open(kind, port.parse().map_err(io::Error::other)?)?;
        let port = listener.local_addr()?.port();
        let more = format!(",\"port\":{port}");
        nest.announce(kind, &more)?;
        nest.show_announced(1)?;
        held.push(listener);
        if kind == "reuse-port" || kind == "inherited" {
            nest.fork(|nest| {
                // The child holds one socket, not all that were made before it.
                let inherited = held.drain(..).next_back().filter(|_| kind == "inherited");
                let own = inherited.map_or_else(|| open(kind, port), Ok)?;
                nest.announce(kind, &more)?;
                nest.wait_for_end()?;
                drop(own);
                Ok(())
            })?;
            nest.show_announced(1)?;
        }
    }
    nest.ready(0)?;
    while crate::nest::next_command()?.is_some() {}
    Ok(())
}

fn open(kind: &str, port: u16) -> io::Result<TcpListener> {
    let of_four = kind != "v6" && kind != "v6-only";
    let family = if of_four { AddressFamily::INET } else { AddressFamily::INET6 };
    let fd: OwnedFd = socket(family, SocketType::STREAM, Some(ipproto::TCP))?;
    if kind == "reuse-port" {
        sockopt::set_socket_reuseport(&fd, true)?;
    }
    let address = if of_four {
        SocketAddr::from((Ipv4Addr::LOCALHOST, port))
    } else {
        sockopt::set_ipv6_v6only(&fd, kind == "v6-only")?;
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))
    };
    bind(&fd, &address)?;
    start_listening(&fd, 8)?;
    Ok(TcpListener::from(fd))
}
