/** The reason a file could not be read, without its path. */
export function readFailure(cause: unknown): string {
  const code = (cause as NodeJS.ErrnoException).code
  if (code === 'ENOENT') return 'no such file'
  if (code === 'EACCES') return 'permission denied'
  if (code === 'EISDIR') return 'it is a directory'
  return code ?? 'unreadable'
}
