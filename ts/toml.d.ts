// A TOML file, bundled as its text.
declare module '*.toml' {
  const text: string;
  export default text;
}
