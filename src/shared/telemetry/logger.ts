import { mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { pino, stdSerializers, type Logger as PinoLogger } from 'pino'
import { repeat } from '../runtime/repeat.ts'
import { maskLine, SECRET_FIELDS } from './mask.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Values beside the message. An error goes under `err`; the line holds its causes too. */
export type LogFields = Readonly<Record<string, unknown>>

export interface LogMethod {
  (message: string): void
  (fields: LogFields, message: string): void
}

/** The logging interface for the rest of the project. */
export interface Logger {
  readonly debug: LogMethod
  readonly info: LogMethod
  readonly warn: LogMethod
  readonly error: LogMethod
  /** Whether lines of this level are written. Lets callers skip values that are expensive to compute. */
  enabled(level: Exclude<LogLevel, 'silent'>): boolean
  /** A logger whose lines carry this one's name, a dot and `name`, e.g. `front.scheduler`. */
  child(name: string): Logger
  /** Writes the buffered lines before it returns. Gives up after a second when nobody reads them. */
  flush(): void
}

/** Takes lines, each with its line feed. */
export interface LogSink {
  write(line: string): void
  flush?(): void
}

export interface LoggerOptions {
  readonly level: LogLevel
  readonly name: string
  /** File to append to; standard output by default. */
  readonly file?: string | null
  /** Used instead of the file and standard output. */
  readonly sink?: LogSink
}

const MAX_FLUSH_MS = 1000
const BUFFER_BYTES = 4096
const FLUSH_EVERY_MS = 250
/** Flushing ends so long after the last line: a file that takes nothing for a while gets lines again then. */
const FLUSH_FOR_MS = 10_000
// A log that nobody reads must not fill the memory: lines past this bound are dropped.
const MAX_BUFFERED_BYTES = 8 * 1024 * 1024

/**
 * A logger of JSON lines. It buffers lines and writes them 4 KiB at a time, after a quarter of a second, on `flush()` (call it
 * before a fatal end) and when the process exits. It redacts secret members by name, and masks in the finished line whatever
 * looks like a credential. Throws when `file` cannot be opened.
 */
export function createLogger({ level, name, file = null, sink = bufferedSink(file) }: LoggerOptions): Logger {
  const root = pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: stdSerializers.errWithCause, error: stdSerializers.errWithCause },
      // Redacts values of top-level members, objects too. Wildcards for deeper ones cost 80 µs a line; `maskLine` masks texts there.
      redact: { paths: SECRET_FIELDS.map((field) => `["${field}"]`), censor: '[redacted]' },
    },
    { write: (line: string) => sink.write(maskLine(line)) },
  )
  return named(root, name, sink)
}

/** Named loggers are children of the root, not of each other: a line would hold the name of each. */
function named(root: PinoLogger, name: string, sink: LogSink): Logger {
  const target = root.child({ name })
  const method = (level: 'debug' | 'info' | 'warn' | 'error'): LogMethod => {
    return (fields: LogFields | string, message?: string) => {
      if (typeof fields === 'string') target[level](fields)
      else target[level](fields, message)
    }
  }
  return {
    debug: method('debug'),
    info: method('info'),
    warn: method('warn'),
    error: method('error'),
    enabled: (level) => target.isLevelEnabled(level),
    child: (childName) => named(root, `${name}.${childName}`, sink),
    flush: () => sink.flush?.(),
  }
}

function bufferedSink(file: string | null): LogSink {
  let giveUpAtMs = Infinity
  const destination = pino.destination({
    dest: file === null ? 1 : openLogFile(file),
    sync: false,
    minLength: BUFFER_BYTES,
    maxLength: MAX_BUFFERED_BYTES,
    // A synchronous flush sleeps between attempts: a reader that stalls must not keep the process from ending.
    retryEAGAIN: () => Date.now() < giveUpAtMs,
  })
  // A full disk or a closed pipe loses log lines, but must not end the process.
  destination.on('error', () => undefined)
  // This listener runs before pino's own one, which flushes.
  process.prependOnceListener('exit', () => (giveUpAtMs = Date.now() + MAX_FLUSH_MS))
  let flushesLeft = 0
  let timer: NodeJS.Timeout | null = null
  // pino's own timer never rests.
  const flush = (): void => {
    destination.flush()
    flushesLeft -= 1
    if (flushesLeft > 0 || timer === null) return
    clearInterval(timer)
    timer = null
  }
  return {
    write: (line) => {
      destination.write(line)
      flushesLeft = FLUSH_FOR_MS / FLUSH_EVERY_MS
      timer ??= repeat(FLUSH_EVERY_MS, flush, () => undefined).unref()
    },
    flush: () => {
      giveUpAtMs = Date.now() + MAX_FLUSH_MS
      try {
        destination.flushSync()
      } catch {
        // The lines stay buffered.
      } finally {
        giveUpAtMs = Infinity
      }
    },
  }
}

/** Opens the file synchronously at start, so that a file that cannot be written stops the start. */
function openLogFile(file: string): number {
  mkdirSync(dirname(file), { recursive: true })
  return openSync(file, 'a', 0o600)
}
