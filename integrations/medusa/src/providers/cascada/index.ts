import { ModuleProvider, Modules } from "@medusajs/framework/utils";
import CascadaProvider from "./service.js";

export default ModuleProvider(Modules.PAYMENT, { services: [CascadaProvider] });
