import type { Reporter, TestModule } from 'vitest/node'

const SHOWN = 10

/** Prints the slowest test files with their projects. */
export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const rows = modules
      .map((module) => {
        const { collectDuration, duration } = module.diagnostic()
        return {
          seconds: (collectDuration + duration) / 1_000,
          name: module.relativeModuleId,
          project: module.project.name,
        }
      })
      .sort((a, b) => b.seconds - a.seconds)
    const total = rows.reduce((sum, { seconds }) => sum + seconds, 0)
    const lines = rows
      .slice(0, SHOWN)
      .map(({ seconds, name, project }) => `${seconds.toFixed(1).padStart(8)} s  ${name} (${project})`)
    process.stdout.write(`\nThe slowest of ${rows.length} files (${total.toFixed(0)} s in all):\n${lines.join('\n')}\n`)
  }
}
