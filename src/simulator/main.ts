import { parseBehaviour } from './behaviour.ts'
import { startSimulator } from './simulator.ts'

/**
 * Runs the simulator as a program. Reads SIMULATOR_PORT (0: any free port), SIMULATOR_HOST and SIMULATOR_DEFAULTS (a behaviour
 * as JSON). Prints `{"port":N}` on stdout and sends it over IPC when ready. Ends on SIGTERM, on SIGINT, or with its parent.
 */
async function main(): Promise<void> {
  const {
    SIMULATOR_PORT: port = '0',
    SIMULATOR_HOST: host = '127.0.0.1',
    SIMULATOR_DEFAULTS: defaults = '{}',
  } = process.env
  if (!/^\d{1,5}$/.test(port)) throw new Error(`SIMULATOR_PORT is not a port: ${port}`)
  const simulator = await startSimulator({ port: Number(port), host, defaults: parseBehaviour(JSON.parse(defaults)) })

  const stop = (): void => {
    void simulator.close().then(() => {
      if (process.connected) process.disconnect()
    })
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  // A gateway reads its configuration again on this signal, which a terminal sends to all processes of the group.
  process.on('SIGHUP', () => undefined)
  process.once('disconnect', stop)
  // The parent may have ended before the listener was added.
  if (process.send !== undefined && !process.connected) stop()
  process.stdout.write(`${JSON.stringify({ port: simulator.port })}\n`)
  process.send?.({ type: 'ready', port: simulator.port })
}

await main()
