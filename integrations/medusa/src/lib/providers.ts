import type { MedusaContainer } from "@medusajs/framework/types";
import { ContainerRegistrationKeys, Modules } from "@medusajs/framework/utils";
import { checkOptions, type Options } from "./options.js";

/** One provider of this plugin, as medusa-config has it. */
export interface Configured {
  /** Medusa's id: pp_cascada_ID. */
  providerId: string;
  options: Options;
}

/** The providers of this plugin. Medusa gives routes, jobs and subscribers no options of theirs, so they are read from its configuration. */
export function configured(container: MedusaContainer): Configured[] {
  const config = container.resolve(ContainerRegistrationKeys.CONFIG_MODULE) as { modules?: Record<string, unknown> };
  const module = config.modules?.[Modules.PAYMENT] as { options?: { providers?: { resolve?: unknown; id?: string; options?: Partial<Options> }[] } } | undefined;
  return (module?.options?.providers ?? [])
    .filter((p) => typeof p.resolve === "string" && p.resolve.includes("@cascadapay/medusa"))
    .map((p) => ({ providerId: `pp_cascada${p.id ? `_${p.id}` : ""}`, options: checkOptions(p.options) }));
}
