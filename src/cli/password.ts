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

/** Reads the first line. Rejects when it is longer than any password. */
async function readLine(): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin) {
    text += String(chunk)
    if (text.includes('\n')) break
    if (text.length > MAX_BYTES)
      throw new UsageError(`the password on standard input is longer than ${MAX_BYTES} bytes`)
  }
  return text.split(/\r?\n/, 1)[0] ?? ''
}

/** Asks on the terminal without echo. */
async function prompt(question: string): Promise<string> {
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
            reject(new UsageError('cancelled: no password was entered'))
            return
          }
          typed = character === '\u007f' || character === '\b' ? typed.slice(0, -1) : typed + character
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
