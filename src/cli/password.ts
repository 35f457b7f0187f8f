import { UsageError } from '../shared/config/config-error.ts'

const MAX_BYTES = 1024

/** Reads a password from the environment, standard input or a prompt on the terminal; never from the command line. */
export async function readPassword(variable: string, fromStdin: boolean): Promise<string> {
  if (fromStdin) return readLine()
  const given = process.env[variable]
  if (given !== undefined && given !== '') return given
  if (!process.stdin.isTTY) {
    throw new UsageError(`set ${variable}, or give the password on standard input with --password-stdin`)
  }
  const password = await prompt('Password: ')
  if ((await prompt('Again: ')) !== password) throw new UsageError('the two passwords differ: run the command again')
  return password
}

export interface CredentialSources {
  readonly phone: string | undefined
  readonly phoneVariable: string
  readonly passwordVariable: string
}

/**
 * Phone and password of a user: from the environment, from prompts on the terminal, or without a terminal from standard input, one a line.
 * The password is never shown.
 */
export async function readCredentials({
  phone,
  phoneVariable,
  passwordVariable,
}: CredentialSources): Promise<{ readonly phone: string; readonly password: string }> {
  const given = [phone ?? nonEmpty(phoneVariable), nonEmpty(passwordVariable)] as const
  const missing = given.filter((value) => value === undefined).length
  const lines = missing === 0 || process.stdin.isTTY ? [] : await readLines(missing)
  const found = {
    phone: given[0] ?? (process.stdin.isTTY ? await prompt('Phone: ', { echo: true }) : (lines.shift() ?? '')),
    password: given[1] ?? (process.stdin.isTTY ? await prompt('Password: ') : (lines.shift() ?? '')),
  }
  if (found.phone === '')
    throw new UsageError(`give --phone, set ${phoneVariable}, or write the phone to standard input`)
  if (found.password === '') throw new UsageError(`set ${passwordVariable}, or write the password to standard input`)
  return found
}

function nonEmpty(variable: string): string | undefined {
  const value = process.env[variable]
  return value === '' ? undefined : value
}

/** Reads the first line. Rejects when it is longer than any password. */
async function readLine(): Promise<string> {
  return (await readLines(1))[0] ?? ''
}

async function readLines(count: number): Promise<string[]> {
  let text = ''
  for await (const chunk of process.stdin) {
    text += String(chunk)
    if (text.split('\n').length > count) break
    if (text.length > MAX_BYTES)
      throw new UsageError(`the password on standard input is longer than ${MAX_BYTES} bytes`)
  }
  return text.split(/\r?\n/, count)
}

/** Asks on the terminal, without echo by default. */
async function prompt(question: string, { echo = false } = {}): Promise<string> {
  const { stdin, stderr } = process
  stderr.write(question)
  stdin.setRawMode(true)
  stdin.resume()
  try {
    return await new Promise<string>((resolve, reject) => {
      let typed = ''
      const onData = (bytes: Buffer): void => {
        for (const character of bytes.toString('utf8')) {
          if (character === '\r' || character === '\n') {
            stdin.off('data', onData)
            resolve(typed)
            return
          }
          if (character === '\u0003' || character === '\u0004') {
            stdin.off('data', onData)
            reject(new UsageError('cancelled: nothing was entered'))
            return
          }
          const isErased = character === '\u007f' || character === '\b'
          if (echo && !isErased) stderr.write(character)
          else if (echo && typed !== '') stderr.write('\b \b')
          typed = isErased ? typed.slice(0, -1) : typed + character
        }
      }
      stdin.on('data', onData)
    })
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
    stderr.write('\n')
  }
}
