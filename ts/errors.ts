/** What was asked for isn't there or failed, as it is told to a person: its message names the thing and what to do. Exit code 1. */
export class Failure extends Error {
  override readonly name: string = 'Failure';
}

/** The command was used wrongly; its message says how, and the help it points to says what is right. Exit code 2. */
export class Misuse extends Error {
  override readonly name = 'Misuse';
}

/** The message of anything thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The code of a system error, such as `ENOENT`. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
