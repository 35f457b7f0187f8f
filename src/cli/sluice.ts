#!/usr/bin/env node
import { EXIT } from '../core/exit-codes.ts'
import { main } from './program.ts'

const code = await main(process.argv.slice(2))
// A gateway that was started sets its own when it ends, or has done so by now.
if (code !== EXIT.ok) process.exitCode = code
