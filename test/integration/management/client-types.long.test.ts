import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** What the compiler says of programs that have the package installed. */
async function compiled(programs: Readonly<Record<string, string>>): Promise<string> {
  mkdirSync(join(root, '.tmp'), { recursive: true })
  const directory = mkdtempSync(join(root, '.tmp', 'installed-'))
  onTestFinished(() => {
    rmSync(directory, { recursive: true, force: true })
  })
  const installed = join(directory, 'node_modules/sluice')
  mkdirSync(installed, { recursive: true })
  copyFileSync(join(root, 'package.json'), join(installed, 'package.json'))
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const build = [compiler, '-p', join(root, 'tsconfig.build.json'), '--outDir', join(installed, 'dist')]
  expect(await outputOf([...build, '--emitDeclarationOnly'], root)).toBe('')
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(directory, name), text)
  const compilerOptions = { module: 'nodenext', target: 'es2022', strict: true, noEmit: true, skipLibCheck: true }
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(programs) }))
  return outputOf([compiler], directory)
}

/** What a program of Node says, whether it succeeds or fails. The worker stays able to answer meanwhile. */
async function outputOf(args: readonly string[], cwd: string): Promise<string> {
  const run = promisify(execFile)(process.execPath, args, { cwd })
  const { stdout } = await run.catch((failure: unknown) => failure as { stdout: string })
  return stdout
}

it('has types for those who install it', { timeout: 400_000 }, async () => {
  const program = `
    import { SluiceClient } from 'sluice/client'
    const client = new SluiceClient({ baseUrl: 'http://localhost:8787', apiKey: 'sk' })
    const { data } = await client.call('listKeys')
    export const names: string[] = data.map(({ name }) => name)`
  const wrong = `${program}\nexport const wrong: number = data[0]!.name`
  const lines = (await compiled({ 'right.ts': program, 'wrong.ts': wrong })).trim().split('\n')
  expect(lines).toEqual([expect.stringMatching(/^wrong\.ts.*'string' is not assignable/)])
})
