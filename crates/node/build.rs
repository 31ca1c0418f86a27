//! Link settings that napi-build gives for glibc, and the one it leaves out for musl.
fn main() {
    napi_build::setup();
    // Thread-local destructors run after dlclose would jump into unmapped code; musl needs the flag too.
    if std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "musl") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
