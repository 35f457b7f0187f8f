import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** What the compiler says of programs that have the package installed. */
function compiled(programs: Readonly<Record<string, string>>): string {
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
  expect(spawnSync(process.execPath, [...build, '--emitDeclarationOnly'], { encoding: 'utf8' }).stdout).toBe('')
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(directory, name), text)
  const compilerOptions = { module: 'nodenext', target: 'es2022', strict: true, noEmit: true, skipLibCheck: true }
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(programs) }))
  return spawnSync(process.execPath, [compiler], { cwd: directory, encoding: 'utf8' }).stdout
}

it('has types for those who install it', { timeout: 120_000 }, () => {
  const program = `
    import { SluiceClient } from 'sluice/client'
    const client = new SluiceClient({ baseUrl: 'http://localhost:8787', apiKey: 'sk' })
    const { data } = await client.call('listKeys')
    export const names: string[] = data.map(({ name }) => name)`
  const wrong = `${program}\nexport const wrong: number = data[0]!.name`
  const lines = compiled({ 'right.ts': program, 'wrong.ts': wrong }).trim().split('\n')
  expect(lines).toEqual([expect.stringMatching(/^wrong\.ts.*'string' is not assignable/)])
})
